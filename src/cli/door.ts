import type { Command } from 'commander'
import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import type { ApprovalRequest } from '../model/approval.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { ReceivedEnvelope } from '../model/wire/invocation.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { ApprovalDecision } from '../model/wire/wire.ts'
import { type CommonOptions, inTenant, withTenant } from './session.ts'
import { type Io, tell } from './terminal/io.ts'

export interface DoorOptions extends CommonOptions {
  readonly url?: string
  readonly key?: string
}

/** What commands ask of a host, whether it is in this process or behind an address. */
export interface Door {
  readonly hostId: string
  capabilities(): Promise<readonly CapabilityDescriptor[]>
  invoke(envelope: ReceivedEnvelope, onChunk: (chunk: Json) => void): Promise<InvocationResult>
  /** Newest first. */
  approvals(state: ApprovalRequest['state']): Promise<readonly ApprovalRequest[]>
  approval(id: string): Promise<ApprovalRequest>
  decide(id: string, decision: ApprovalDecision): Promise<ApprovalRequest>
}

/** The options of commands that go to a host of this machine, or to one behind an address. */
export const withDoor = (command: Command): Command =>
  withTenant(command)
    .option('--url <address>', 'a host that is being served, such as http://127.0.0.1:4770 (default: the store here)')
    .option('--key <key>', 'the API key to go there with (default: AMBIT_KEY)')

/** The key that a command goes to its host with. */
export const keyOf = (io: Io, { key }: DoorOptions): string | undefined => (key ?? io.env['AMBIT_KEY']) || undefined

/** Not every path of a host says what to do about a key that it does not accept. */
function withKeyHelp(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== 'unauthenticated') throw error
  const help = 'give a current key of this host with AMBIT_KEY or --key'
  throw new Failure(error.code, error.message, error.data, help)
}

/** Opens the door for the length of `work`. */
export async function atDoor<T>(io: Io, options: DoorOptions, work: (door: Door) => Promise<T>): Promise<T> {
  const { url } = options
  if (url !== undefined) {
    const { remoteDoor } = await import('./door-remote.ts')
    return remoteDoor(url, keyOf(io, options)).then(work).catch(withKeyHelp)
  }
  const asked = { ...io, env: { ...io.env, AMBIT_KEY: keyOf(io, options) } }
  return inTenant(asked, options, async (ambit, caller) => {
    const { withLocalDoor } = await import('./door-local.ts')
    return withLocalDoor(ambit, caller, tell(io), work)
  })
}
