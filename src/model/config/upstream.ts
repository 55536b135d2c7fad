import { z } from 'zod'
import { capabilityDescriptor } from '../capability.ts'
import { objectDigest } from '../evidence.ts'
import { jsonValue } from '../json.ts'
import { form, line } from '../text.ts'

/** Text in which every `{secret:NAME}` stands for a secret of the tenant. */
const withSecrets = form(/^[^\p{Cc}]{0,4096}$/u, 'at most 4,096 characters without control characters')

const command = z.strictObject({
  command: line,
  args: z.array(withSecrets).max(256).optional(),
  /** Beside these the process has only what a program needs to start: nothing else of our environment. */
  env: z.record(line, withSecrets).optional(),
  /** Relative to the folder of the configuration. */
  cwd: line.optional(),
})

const fixed = {
  headers: z.record(line, withSecrets).optional(),
  query: z.record(line, withSecrets).optional(),
}

/** An address and what is sent to it with every request. */
const address = z.strictObject({
  url: form(
    /^https?:\/\/[^\s#?]+$/u,
    'an address that begins with http:// or https://, without `#`, and with what is behind `?` in `query`',
  ),
  ...fixed,
})

export const mcpServer = z.union([command, address])

/** What is offered of a capability, as far as it is not the same for all. */
const offered = capabilityDescriptor.partial({ modes: true, emits: true })

const parameter = z.strictObject({
  name: line,
  in: z.enum(['path', 'query', 'header', 'cookie']),
  /** The member of the input that fills it. */
  from: line,
  style: z
    .enum(['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'])
    .optional(),
  explode: z.boolean().optional(),
})

/** How members of a form are written that are lists or objects; what is not said is one field per item, and JSON. */
const encoding = z.record(
  line,
  z.strictObject({
    style: z.enum(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']),
    explode: z.boolean().optional(),
  }),
)

/** One request over HTTP, with places for the members of an input. */
const request = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']),
  path: form(/^\/[^\s#?]*$/u, 'a path that begins with /'),
  parameters: z.array(parameter).max(256).optional(),
  body: z.strictObject({ from: line, type: line, encoding: encoding.optional() }).optional(),
  /** What is sent with it beside what every request to the server has. */
  ...fixed,
})

/** A capability of an MCP server: the tool, the digest of the accepted definition, and its claims. */
const tool = z.strictObject({
  tool: line,
  definition: objectDigest,
  annotations: jsonValue.optional(),
  descriptor: offered,
})
const operation = z.strictObject({ request, descriptor: offered })

export const upstreamName = form(
  /^[a-z][a-z0-9_-]{0,31}$/u,
  'a name: a small letter, then at most 31 small letters, digits, _ and -',
)

/** Clients of MCP get its `structuredContent` as it comes. Text in it stands in no fence; without this they get none. */
const structured_content = z.literal('unfenced').optional()

/** What is not listed does not exist. */
export const upstream = z.discriminatedUnion('adapter', [
  z.strictObject({
    adapter: z.literal('mcp'),
    name: upstreamName,
    structured_content,
    server: mcpServer,
    capabilities: z.array(tool).max(1_000),
  }),
  z.strictObject({
    adapter: z.literal('http'),
    name: upstreamName,
    structured_content,
    server: address,
    capabilities: z.array(operation).max(2_000),
  }),
])

export type Upstream = z.infer<typeof upstream>
export type McpUpstream = Extract<Upstream, { adapter: 'mcp' }>
export type HttpUpstream = Extract<Upstream, { adapter: 'http' }>
export type HttpRequestTemplate = z.infer<typeof request>
export type ServerCommand = z.infer<typeof command>
export type ServerAddress = z.infer<typeof address>
