/** What a media type is at its core, how its content is written, and its character set. */
export function mediaOf(type: string) {
  const [first = '', ...parameters] = type.split(';')
  const essence = first.trim().toLowerCase()
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^\s"]+)"?\s*$/i.exec(parameter)?.[1])
    .find((found) => found !== undefined)
  return { essence, kind: kindOf(essence), charset: charset?.toLowerCase() ?? 'utf-8' }
}

/** The media types of forms: what a server reads together with the query. */
export const forms = ['application/x-www-form-urlencoded', 'multipart/form-data']

function kindOf(essence: string): 'json' | 'form' | 'text' | 'bytes' {
  if (forms.includes(essence)) return 'form'
  if (/^(?:application|text)\/(?:json|[\w.!#$&^-]+\+json)$/.test(essence)) return 'json'
  const isText = /^text\/|^application\/(?:xml|yaml|x-yaml|javascript|graphql|x-ndjson|sql|toml)$|\+(?:xml|yaml)$/
  return isText.test(essence) ? 'text' : 'bytes'
}
