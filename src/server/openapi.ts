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
  const { name, parameters, body } = route.operation ? describeOperation(route.operation) : describeRoute(route)
  const answers = Object.entries(route.answers).map(([status, answer]) => [status, responseOf([answer].flat())])
  return {
    operationId: name,
    summary: route.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { ...Object.fromEntries(answers), default: responseOf([errorOf(route)]) },
    ...(route.public && { security: [] }),
  }
}

interface Described {
  readonly name: string
  readonly parameters: readonly Doc[]
  readonly body: Doc | false
}

function describeRoute({ method, path, query = [], body }: Route): Described {
  const inPath = [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: text,
  }))
  const inQuery = query.map((name) => ({ name, in: 'query', required: false, schema: text }))
  const words = path === '/' ? ['root'] : (path.match(/[A-Za-z0-9]+/g) ?? [])
  // `GET /v1/approvals/:id` as `getV1ApprovalsId`.
  const name = words.reduce((all, word) => all + word.charAt(0).toUpperCase() + word.slice(1), method.toLowerCase())
  return { name, parameters: [...inPath, ...inQuery], body: body !== undefined && reference(body) }
}

const text = { type: 'string' }

/** Path, query and body of an operation, by where the members of its input stand. */
function describeOperation(operation: NonNullable<Route['operation']>): Described {
  const { method, inPath } = routeOf(operation)
  const { properties = {}, required = [], $id: _, $schema: __, ...words } = jsonSchemaOf(operation.input) as InputSchema
  const others = Object.entries(properties).filter(([name]) => !inPath.includes(name))
  const inQuery = method === 'GET' ? others : []
  const parameters = [
    ...inPath.map((name) => ({ name, in: 'path', required: true, schema: properties[name] })),
    ...inQuery.map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema })),
  ]
  const rest = required.filter((name) => !inPath.includes(name))
  return {
    name: operation.name.replace(/\.(\w)/g, (_all, first: string) => first.toUpperCase()),
    parameters,
    body: method === 'POST' && { ...words, properties: Object.fromEntries(others), required: rest },
  }
}

interface InputSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly [word: string]: unknown
}

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
