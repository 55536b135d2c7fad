import { Failure, quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { type HttpUpstream, upstream as upstreamShape } from '../../model/config/upstream.ts'
import { parseAs } from '../../model/parse.ts'
import { higherRisk, type Risk, rankOf } from '../../policy/risk.ts'
import { schemaFault } from '../../policy/schema/schema.ts'
import { checkHttp, isSafe } from '../http/check.ts'
import { answerSchemaOf, type RequestBody, requestBodyOf } from './content.ts'
import { addressOf, type Found, listOf, type OpenApi, textOf, Unmapped } from './document.ts'
import { type Parameter, parametersOf } from './parameters.ts'
import type { Schemas } from './schemas.ts'
import { type Credential, fixedOf, type KeyPlaces, metadataOf } from './security.ts'

type Capability = HttpUpstream['capabilities'][number]
type Described = Capability['descriptor']

export interface Mapping {
  readonly api: OpenApi
  readonly upstream: HttpUpstream
  readonly version: string
  readonly isKeyPlace: KeyPlaces
  readonly schemas: Readonly<Record<'input' | 'form' | 'output', Schemas>>
  readonly note: (text: string) => void
}

/** One operation as a capability; throws `Unmapped` with the reason if it cannot be one. */
export function mapOperation(found: Found, credentials: readonly Credential[], mapping: Mapping): Capability {
  const { id, method, path } = found
  const { api, upstream, note } = mapping
  checkServer(found, upstream.server.url)
  const parameters = parametersOf(api, found, credentials, mapping.isKeyPlace)
  const body = bodyFor(found, api)
  const input = mapping.schemas[body?.isForm ? 'form' : 'input'].whole(inputSchema(parameters, body))
  if (input.schema['type'] === undefined) throw new Unmapped('its input is too large to be described')
  if (input.isCut)
    note(`${method} ${path}: its input is too large to be described whole, the rest is checked by the server`)
  const metadata = metadataOf(credentials, new URL(upstream.server.url).origin)
  const made: Capability = {
    request: {
      method,
      path,
      ...(parameters.length > 0 && { parameters: parameters.map(({ template }) => template) }),
      ...(body && { body: { from: 'body', type: body.type, ...(body.encoding && { encoding: body.encoding }) } }),
      ...fixedOf(credentials),
    },
    descriptor: {
      ...described(found, mapping),
      input_schema: input.schema as Described['input_schema'] & object,
      ...outputSchema(found, mapping),
      ...(metadata && { metadata }),
    },
  }
  return checked(made, id, upstream)
}

/** What reads has no body; one that it could do without is left out. */
function bodyFor({ method, operation }: Found, api: OpenApi): RequestBody | undefined {
  const body = requestBodyOf(api, operation['requestBody'])
  if (body === undefined || (method !== 'GET' && method !== 'HEAD')) return body
  if (body.isRequired) throw new Unmapped(`it needs a body, which a ${method} request has not`)
  return undefined
}

function inputSchema(parameters: readonly Parameter[], body: RequestBody | undefined): JsonObject {
  const members = parameters.map(({ template, schema }) => [template.from, schema] as const)
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ template }) => template.from)
  return {
    type: 'object',
    properties: Object.fromEntries([...members, ...(body ? [['body', body.schema] as const] : [])]),
    required: [...required, ...(body?.isRequired ? ['body'] : [])],
    additionalProperties: false,
  }
}

/** What it answers. Where that is not known, or too much, nothing is said of it. */
function outputSchema({ method, path, operation }: Found, { api, schemas, note }: Mapping) {
  const schema = method === 'HEAD' ? undefined : answerSchemaOf(api, operation['responses'])
  if (schema === undefined) return undefined
  const output = schemas.output.whole(schema)
  if (output.isCut) note(`${method} ${path}: its answer is too large to be described whole, the rest is not checked`)
  const fault = schemaFault(output.schema)
  if (fault === undefined) return { output_schema: output.schema as Described['output_schema'] & object }
  note(`${method} ${path}: its answer is not checked: ${fault}`)
  return undefined
}

const risks: Readonly<Partial<Record<Found['method'], Risk>>> = {
  GET: 'low',
  HEAD: 'low',
  OPTIONS: 'low',
  DELETE: 'high',
}

function described({ id, method, path, operation, item }: Found, { api, version }: Mapping): Capability['descriptor'] {
  const raised = [api.root, item, operation].map((place) => place['x-ambit']).filter(isJsonObject)
  const risk = raised.reduce((before, { risk: said }) => higherRisk(before, said), risks[method] ?? 'medium')
  const isRaised = (key: string): boolean => raised.some((place) => place[key] === true)
  const needsYes = rankOf(risk) >= rankOf('high') || isRaised('approval_required')
  const title = oneLine(textOf(operation['summary']), 256)
  const about = oneLine(textOf(operation['description']), 1_000)
  const tags = listOf(operation['tags'])
    .map((tag) => oneLine(textOf(tag), 64))
    .filter((tag) => tag !== '')
  return {
    id,
    version,
    description: [title, about].filter((text) => text !== '').join(' — ') || `${method} ${path}`,
    ...(title !== '' && { name: title }),
    ...(tags.length > 0 && { tags: tags.slice(0, 16) }),
    ...(operation['deprecated'] === true && { status: 'deprecated' }),
    side_effects: isSafe(method) ? [] : [`http.${method}`],
    risk,
    // Proposed for people to change. Only they open something to callers without a key.
    policy: { auth_required: true, ...(needsYes && { approval_required: true }) },
  }
}

/** Text of a document on one line, without control characters. */
const oneLine = (text: string, chars: number): string =>
  text
    .toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, chars)
    .toWellFormed()

function checkServer({ operation, item }: Found, url: string): void {
  const [own] = listOf(operation['servers'] ?? item['servers'])
  if (!isJsonObject(own)) return
  const there = URL.parse(addressOf(own), `${url}/`)?.href.replace(/\/$/, '')
  if (there !== url) throw new Unmapped(`it is offered by another server, ${quote(there ?? textOf(own['url']))}`)
}

/** Held against everything that is asked of it when it is opened, so that it cannot stop others from being so. */
function checked(made: Capability, id: string, upstream: HttpUpstream): Capability {
  try {
    const alone = parseAs(upstreamShape, { ...upstream, capabilities: [made] }, 'operation') as HttpUpstream
    checkHttp(alone)
    const fault = schemaFault(made.descriptor.input_schema ?? {})
    if (fault !== undefined) throw new Unmapped(`its input cannot be checked: ${fault}`)
    return alone.capabilities[0] ?? made
  } catch (error) {
    if (error instanceof Failure) throw new Unmapped(`as ${quote(id)} it could not be offered: ${error.message}`)
    throw error
  }
}
