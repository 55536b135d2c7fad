import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject, membersOf } from '../../base/object.ts'
import type { HttpRequestTemplate } from '../../model/config/upstream.ts'
import { forms, mediaOf } from '../http/media.ts'
import { followed, type OpenApi, Unmapped } from './document.ts'

export type RequestBody = NonNullable<ReturnType<typeof requestBodyOf>>
type Encoding = NonNullable<NonNullable<HttpRequestTemplate['body']>['encoding']>

/** The body of a request in the type that is easiest to write: JSON, a form, text, bytes. */
export function requestBodyOf(api: OpenApi, body: Json | undefined) {
  if (body === undefined) return undefined
  const { content, required } = followed(api, body, 'its request body')
  const [best] = Object.entries(membersOf(content)).sort(([a], [b]) => rankOf(a) - rankOf(b))
  if (best === undefined) return undefined
  const [said, media] = best
  const schema = membersOf(media)['schema'] ?? {}
  const isJson = rankOf(said) === 0
  const concrete = isJson ? 'application/json' : 'application/octet-stream'
  const type = said.includes('*') ? concrete : said
  if (/[^\x20-\x7e]/.test(type)) throw new Unmapped(`its body has the type ${quote(type)}`)
  const { essence, kind } = mediaOf(type)
  const isForm = kind === 'form'
  const encoding = essence === forms[0] ? encodingOf(membersOf(media)['encoding']) : {}
  return {
    ...{ type, schema: isJson || isForm ? schema : simple(kind), isRequired: required === true, isForm },
    ...(Object.keys(encoding).length > 0 && { encoding }),
  }
}

const styles = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const

/** How a document wants members of a form written; where it says nothing that is known, as they always are. */
function encodingOf(said: Json | undefined): Encoding {
  const members = Object.entries(membersOf(said)).flatMap(([name, member]) => {
    const { style: named, explode } = membersOf(member)
    const style = styles.find((known) => known === (named ?? 'form'))
    if (style === undefined || (named === undefined && explode === undefined)) return []
    return [[name, { style, ...(typeof explode === 'boolean' && { explode }) }] as const]
  })
  return Object.fromEntries(members)
}

const simple = (kind: string): Json =>
  kind === 'text' ? { type: 'string' } : { type: 'string', contentEncoding: 'base64' }

function rankOf(type: string): number {
  const { essence, kind } = mediaOf(type)
  if (kind === 'json' || essence === '*/*' || essence === 'application/*') return 0
  if (kind === 'form') return 1 + forms.indexOf(essence)
  return kind === 'text' ? 3 : 4
}

/** The schema of what a call answers, if every answer with success is JSON or nothing. */
export function answerSchemaOf(api: OpenApi, responses: Json | undefined): Json | undefined {
  if (!isJsonObject(responses)) return undefined
  const good = Object.entries(responses).filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
  const schemas = good.map(([, response]) => schemaIn(followed(api, response, 'an answer')))
  if (schemas.length === 0 || schemas.every((schema) => schema === 'nothing')) return undefined
  if (schemas.includes('unknown')) return undefined
  const each = schemas.map((schema): Json => (schema === 'nothing' ? { type: 'null' } : (schema as Json)))
  return each.length === 1 ? each[0] : { anyOf: each }
}

function schemaIn({ content }: JsonObject): Json | 'nothing' | 'unknown' {
  if (!isJsonObject(content) || Object.keys(content).length === 0) return 'nothing'
  const [first, ...more] = Object.entries(content)
  const isJson = more.length === 0 && first !== undefined && mediaOf(first[0]).kind === 'json'
  return (isJson ? membersOf(first[1])['schema'] : undefined) ?? 'unknown'
}
