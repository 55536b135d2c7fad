import { version } from '../base/version.ts'
import { type JsonSchema, jsonSchemaOf } from '../model/schemas.ts'
import { type Answer, problem, type Route } from './route.ts'

type Doc = Record<string, unknown>

/** The description of every endpoint, OpenAPI 3.1, made of the routes themselves and of the schemas they name. */
export function openapi(routes: readonly Route[]): Doc {
  const paths: Record<string, Doc> = {}
  for (const route of routes) {
    const path = route.path.replace(/:([a-z]+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Ambit', version, description },
    paths,
    components: { schemas: schemas(routes), securitySchemes: security },
    security: [{ key: [] }, { bearer: [] }],
  }
}

const description = 'A capability host, compatible with CHP, and what Ambit adds to it.'
const security = {
  key: { type: 'apiKey', in: 'header', name: 'X-CHP-Key' },
  bearer: { type: 'http', scheme: 'bearer' },
}

function operationOf(route: Route): Doc {
  const { parameters, body } = inputOf(route)
  const answers = Object.entries(route.answers).map(([status, answer]) => [status, responseOf([answer].flat())])
  return {
    operationId: nameOf(route),
    summary: route.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { ...Object.fromEntries(answers), default: responseOf([errorOf(route)]) },
    ...(route.public && { security: [] }),
  }
}

/** `approvals.show` as `approvalsShow`, `GET /host` as `getHost`. */
function nameOf({ operation, method, path }: Route): string {
  const words = operation?.name.split('.') ?? [method.toLowerCase(), ...(path.match(/[A-Za-z0-9]+/g) ?? ['root'])]
  return words.map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('')
}

/** Path, query and body by where the members of the input stand; what no operation describes is text, or names its body. */
function inputOf({ method, path, query = [], body, operation }: Route) {
  const inPath = [...path.matchAll(/:([a-z]+)/g)].map(([, name = '']) => name)
  const texts = Object.fromEntries([...inPath, ...query].map((name) => [name, { type: 'string' }]))
  const input: InputSchema = operation ? jsonSchemaOf(operation.input) : { properties: texts, required: inPath }
  const { properties = {}, required = [], $id: _, $schema: __, ...words } = input
  const rest = Object.entries(properties).filter(([name]) => !inPath.includes(name))
  const parameter = (place: 'path' | 'query', name: string) => ({
    ...{ name, in: place, required: required.includes(name), schema: properties[name] },
  })
  const members = { properties: Object.fromEntries(rest), required: required.filter((name) => !inPath.includes(name)) }
  return {
    parameters: [
      ...inPath.map((name) => parameter('path', name)),
      ...(method === 'GET' ? rest.map(([name]) => parameter('query', name)) : []),
    ],
    body: method === 'POST' && (operation ? { ...words, ...members } : body && reference(body)),
  }
}

type InputSchema = { properties?: Record<string, JsonSchema>; required?: readonly string[]; [word: string]: unknown }

/** Everything that goes wrong has one form: the protocol's own on its paths, problems on ours. */
const errorOf = ({ path }: Route): Answer => (path.startsWith('/v1/') ? problem : { schema: 'wire-error' })

function responseOf(answers: readonly Answer[]): Doc {
  const byType = Map.groupBy(answers, ({ type = 'application/json' }) => type)
  const content = [...byType].map(([type, same]) => [type, { schema: anyOf(same) }])
  return { description: 'The answer.', content: Object.fromEntries(content) }
}

function anyOf(answers: readonly Answer[]): Doc {
  const known = answers.map(({ schema }) => (schema === undefined ? {} : reference(schema)))
  return known.length === 1 && known[0] !== undefined ? known[0] : { anyOf: known }
}

const reference = (name: string): Doc => ({ $ref: `#/components/schemas/${name}` })

function schemas(routes: readonly Route[]): Record<string, JsonSchema> {
  const answered = routes.flatMap(({ answers }) => Object.values(answers).flat())
  const named = [...routes.map(({ body }) => body), ...answered.map(({ schema }: Answer) => schema)]
  const names = new Set([...named.filter((name) => name !== undefined), 'wire-error', 'problem'])
  return Object.fromEntries([...names].sort().map((name) => [name, jsonSchemaOf(name)]))
}
