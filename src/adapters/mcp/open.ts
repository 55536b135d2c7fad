import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { type CallContext, type Capability, describedCapability, type Hindrance } from '../../gateway/capability.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { within } from '../../gateway/within.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { timeoutMsOf } from '../../policy/budgets.ts'
import type { OpenUpstream, UpstreamDeps } from '../adapter.ts'
import { foreignDescriptor, isServerError, isTextOnly, traceparentOf } from '../adapter.ts'
import { openBreaker } from '../breaker.ts'
import { checkServer } from '../http/check.ts'
import { openLink } from './link.ts'
import { unavailable } from './outcome.ts'
import { credentialsOf } from './server.ts'
import { definitionOf } from './tool-drift.ts'

type Accepted = McpUpstream['capabilities'][number]
type Input = Readonly<Record<string, Json>>

/** The accepted tools of an MCP server as capabilities. It is connected to when the first of them is called. */
export function openMcp(upstream: McpUpstream, deps: UpstreamDeps): OpenUpstream {
  checkServer(upstream)
  const link = openLink(upstream, deps)
  const breaker = openBreaker(upstream.name, deps.clock)
  const callTool = async (accepted: Accepted, timeoutMs: number, input: Input, call: CallContext) => {
    // A server that needs half of the call's time to be ready counts as unavailable: so nothing was sent for sure.
    const { connection, tools } = await within(link.ready(call.secret), timeoutMs / 2, () => {
      throw unavailable(upstream.name, 'it does not answer')
    })
    const tool = tools.find(({ name }) => name === accepted.tool)
    if (link.isHeld(accepted.tool) || !tool || definitionOf(tool) !== accepted.definition)
      throw new CallEnded('definition_changed', heldReason(upstream, accepted), { effect: 'none' })
    return connection.call({ tool, input, traceparent: traceparentOf(call), signal: call.signal })
  }
  const capabilityOf = (accepted: Accepted): Capability => {
    const descriptor = descriptorOf(upstream, accepted)
    const handler: Parameters<typeof describedCapability>[1] = (input, call) =>
      breaker.run(() => callTool(accepted, timeoutMsOf(descriptor), input, call), isFault, call.signal)
    const hindrance = (): Hindrance | undefined =>
      link.isHeld(accepted.tool)
        ? { lifecycle: 'declared', reason: heldReason(upstream, accepted) }
        : breaker.hindrance()
    return describedCapability(descriptor, handler, { hindrance, textOnly: isTextOnly(upstream) })
  }
  return { capabilities: upstream.capabilities.map(capabilityOf), close: () => link.close() }
}

function descriptorOf({ name, server }: McpUpstream, { descriptor }: Accepted): CapabilityDescriptor {
  const credentials = { ...descriptor.metadata?.credentials, ...credentialsOf(server) }
  // What a program does is not seen from here: unless its file says otherwise it may reach out as a server does.
  return foreignDescriptor(descriptor, { origin: `mcp:${name}`, network: 'external', credentials })
}

const heldReason = ({ name }: McpUpstream, { tool }: Accepted): string =>
  `the definition of the tool ${quote(tool)} has changed since it was accepted; what changed and how it is accepted ` +
  `is shown by \`ambit capabilities drift ${name}\``

/** The server is at fault, not the call. */
const isFault = (error: unknown): boolean =>
  (error instanceof CallEnded && error.code !== 'definition_changed') || isServerError(error)
