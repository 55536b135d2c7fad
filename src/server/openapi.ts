import { version } from '../base/version.ts'
import { type JsonSchema, jsonSchemaOf } from '../model/schemas.ts'
import { routeOf } from '../operations/operation.ts'
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
    info: {
      title: 'Ambit',
      version,
      description: 'A capability host, compatible with CHP, and what Ambit adds to it.',
    },
    paths,
    components: { schemas: schemas(routes), securitySchemes: security },
    security: [{ key: [] }, { bearer: [] }, { token: [] }],
  }
}

const security = {
  key: { type: 'apiKey', in: 'header', name: 'X-CHP-Key' },
  token: { type: 'apiKey', in: 'header', name: 'X-CHP-Token' },
  bearer: { type: 'http', scheme: 'bearer' },
}

function operationOf(route: Route): Doc {
  if (route.operation !== undefined) return describedOf(route, route.operation)
  const inPath = [...route.path.matchAll(/:([a-z]+)/g)].map(([, name]) => parameter(name ?? '', 'path'))
  const inQuery = (route.query ?? []).map((name) => parameter(name, 'query'))
  const answers = Object.entries(route.answers).map(([status, answer]) => [status, responseOf([answer].flat())])
  return {
    operationId: nameOf(route),
    summary: route.summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(route.body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: reference(route.body) } } },
    }),
    responses: { ...Object.fromEntries(answers), default: responseOf([errorOf(route)]) },
    ...(route.public && { security: [] }),
  }
}

/** Path, query and body of an operation, by where the members of its input stand. */
function describedOf(route: Route, operation: NonNullable<Route['operation']>): Doc {
  const { method, inPath } = routeOf(operation)
  const { properties = {}, required = [], ...shape } = jsonSchemaOf(operation.input) as InputSchema
  const members = Object.entries(properties)
  const inQuery = members.filter(([name]) => method === 'GET' && !inPath.includes(name))
  const inBody = members.filter(([name]) => method === 'POST' && !inPath.includes(name))
  const parameters = [
    ...inPath.map((name) => ({ name, in: 'path', required: true, schema: properties[name] })),
    ...inQuery.map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema })),
  ]
  const { $id: _, $schema: __, ...words } = shape
  const body = {
    ...words,
    properties: Object.fromEntries(inBody),
    required: required.filter((name) => !inPath.includes(name)),
  }
  const answers = Object.entries(route.answers).map(([status, answer]) => [status, responseOf([answer].flat())])
  return {
    operationId: operation.name.replace(/\.(\w)/g, (_all, first: string) => first.toUpperCase()),
    summary: route.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(method === 'POST' && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { ...Object.fromEntries(answers), default: responseOf([problem]) },
    ...(route.public && { security: [] }),
  }
}

interface InputSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly [word: string]: unknown
}

/** `GET /v1/approvals/:id` as `getV1ApprovalsId`. */
const nameOf = ({ method, path }: Route): string =>
  method.toLowerCase() +
  (path === '/' ? 'Root' : '') +
  (path.match(/[A-Za-z0-9]+/g) ?? []).map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')

const parameter = (name: string, place: 'path' | 'query'): Doc => ({
  name,
  in: place,
  required: place === 'path',
  schema: { type: 'string' },
})

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
  const named = routes.flatMap((route) => [
    ...(route.body === undefined ? [] : [route.body]),
    ...Object.values(route.answers).flatMap((answer) => [answer].flat().flatMap(({ schema }: Answer) => schema ?? [])),
  ])
  const names = [...new Set([...named, 'wire-error', 'problem'])].sort()
  return Object.fromEntries(names.map((name) => [name, jsonSchemaOf(name)]))
}
