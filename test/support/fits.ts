// Holds answers against the OpenAPI document: every one that a test sees must be one that it promises.

import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { openapi } from '../../src/server/openapi.ts'
import { routes } from '../../src/server/routes.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is looked at as data
export const document: any = JSON.parse(JSON.stringify(openapi(routes)))

const ajv = new Ajv2020({ strict: false, allErrors: false })
for (const schema of Object.values<object>(document.components.schemas)) ajv.addSchema(schema)

/** Asserts that an answer is one that the document promises for this request. */
export function assertFits(method: string, path: string, status: number, type: string | null, text: string): void {
  const operation = operationOf(method, path)
  const failed = { content: { 'application/json': { schema: refs('wire-error') } } }
  const problem = { content: { 'application/problem+json': { schema: refs('problem') } } }
  const anywhere = /^\/v1(\/|$)/.test(path) ? problem : failed
  const answer = operation?.responses[status] ?? (status < 400 ? undefined : (operation?.responses.default ?? anywhere))
  assert(answer !== undefined, `${method} ${path} answered ${status}, which is not described`)
  const isEmpty = Object.keys(answer.content).length === 0
  if (isEmpty) assert.deepEqual([type, text], [null, ''])
  if (isEmpty) return
  const promised = answer.content[type ?? ''] ?? (status === 400 ? failed.content['application/json'] : undefined)
  assert(promised !== undefined, `${method} ${path} answered ${status} as ${type}, which is not described`)
  if (type === 'text/event-stream' || type?.startsWith('text/plain')) return
  checkSchema(promised, text)
}

const refs = (name: string) => ({ $ref: `#/components/schemas/${name}` })

interface Reference {
  readonly $ref?: string
  readonly anyOf?: readonly Reference[]
}

function checkSchema({ schema }: { readonly schema: Reference }, text: string): void {
  const value: unknown = JSON.parse(text)
  const names = [schema, ...(schema.anyOf ?? [])].flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? [])
  if (names.length === 0) return
  const problems = names.map((name) => {
    const validate = ajv.getSchema(`urn:ambit:schema:${name}`)
    return validate?.(value) === true ? undefined : `${name}: ${JSON.stringify(validate?.errors?.[0])}`
  })
  assert(problems.includes(undefined), `${problems.join('; ')} in ${text.slice(0, 500)}`)
}

// biome-ignore lint/suspicious/noExplicitAny: the document is looked at as data
function operationOf(method: string, path: string): any {
  const [plain = ''] = path.split('?')
  const found = Object.entries<Record<string, unknown>>(document.paths).find(([template]) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{[a-z]+\}/g, '[^/]+')}$`).test(plain),
  )
  return found?.[1][method.toLowerCase()]
}
