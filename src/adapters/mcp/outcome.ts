import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Json } from '../../base/canonical.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { UpstreamFailed } from '../adapter.ts'
import { streamEnded } from './http.ts'
import { NotSent } from './transport.ts'

/** The result of a call. A tool that reports an error does not say whether it had an effect. */
export function resultOf({ content, structuredContent, isError }: CallToolResult, asked: boolean): Json {
  if (isError && asked) throw inputRequired()
  const said = content.find((part) => part.type === 'text')?.text
  if (isError) throw new UpstreamFailed('tool_error', visible(said) || 'the tool reported an error')
  return { content, ...(structuredContent !== undefined && { structuredContent }) } as unknown as Json
}

/** Nothing was sent: the server is not there. */
export const unavailable = (name: string, why = 'it cannot be reached'): CallEnded =>
  new CallEnded('unavailable', `the server \`${name}\` is not available: ${why}`, { effect: 'none' })

const inputRequired = (): UpstreamFailed =>
  new UpstreamFailed('input_required', 'the tool asks for more than its input, and no person is there to answer')

/** What a call ended with that brought no result. Words of the server are kept whole: they are searched for secrets later. */
export function failureOf(error: unknown, name: string, asked: boolean): Error {
  if (error instanceof UpstreamFailed) return error
  const ended = endedIn(error)
  if (ended) return ended
  const { code, message } = error as { code?: unknown; message?: string }
  const status = statusOf(error)
  if (error instanceof NotSent || (!isTheirs(error) && message === 'Not connected'))
    return unavailable(name, 'it went away')
  if (status !== undefined) return new UpstreamFailed(`http_${status}`, `the server answered with the status ${status}`)
  if (code === 'UNSUPPORTED_RESULT_TYPE' || wantsInput.has(code)) return inputRequired()
  if (code === 'CONNECTION_CLOSED' || code === 'REQUEST_TIMEOUT' || message === streamEnded)
    return new CallEnded('upstream_gone', `the server \`${name}\` was asked and did not answer`, { effect: 'unknown' })
  if (!isTheirs(error)) return new UpstreamFailed('invalid_answer', 'the server answered with something else')
  return asked
    ? inputRequired()
    : new UpstreamFailed(`mcp_${code}`, visible(message) || 'the server refused the request')
}

/** True for the word of the server, which has a number; it says nothing about what lies between us. */
const isTheirs = (error: unknown): boolean => typeof (error as { code?: unknown } | undefined)?.code === 'number'

/** The status of an answer over HTTP that brought no message. */
export function statusOf(error: unknown): number | undefined {
  const { data } = (error ?? {}) as { data?: { status?: unknown } }
  return !isTheirs(error) && typeof data?.status === 'number' ? data.status : undefined
}

// A capability of the client, and an address that a person should visit.
const wantsInput: ReadonlySet<unknown> = new Set([-32021, -32042])

/** What a `CallEnded` says that lies beneath. */
export function endedIn(error: unknown): CallEnded | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    if (at instanceof CallEnded) return at
  return undefined
}

/** Without what steers a terminal; ends of lines stay, because a secret may hold them. */
const visible = (text = ''): string => text.replace(/(?![\n\r\t])\p{C}/gu, '')
