import { promisify } from 'node:util'
import { type Command, Option } from 'commander'
import { defined } from '../../base/object.ts'
import type { ApprovalRequest, Demand } from '../../model/approval.ts'
import type { ApprovalDecision } from '../../model/wire/wire.ts'
import { demandsOf } from '../../policy/approval.ts'
import { atDoor, type Door, type DoorOptions, keyOf, withDoor } from '../door.ts'
import { objectInput } from '../terminal/files.ts'
import { type Io, jsonText, line, paint, plain, printJson, type Register } from '../terminal/io.ts'
import { argumentsOf, printApproval, printApprovals, tallyOf } from './approval-card.ts'

interface DecideOptions extends DoorOptions {
  readonly rationale?: string
}

const states = ['pending', 'approved', 'denied', 'expired', 'stale', 'redeemed'] as const

const register: Register = (approvals, io) => {
  withDoor(approvals.command('list'))
    .description('calls that wait for a decision, with a key those that it may decide about, newest first')
    .addOption(new Option('--state <state>', 'which ones').choices([...states, 'all']).default('pending'))
    .action((options: DoorOptions & { state: (typeof states)[number] | 'all' }) =>
      atDoor(io, options, async (door) => {
        const wanted = options.state === 'all' ? states : [options.state]
        const found = (await Promise.all(wanted.map((state) => door.approvals(state)))).flat()
        // Ids are made in the order of time.
        const items = found.toSorted((a, b) => (a.approval_id < b.approval_id ? 1 : -1))
        options.json
          ? printJson(io, items)
          : printApprovals(io, items, Date.now(), keyOf(io, options) === undefined ? 'none' : noneForYou)
      }),
    )

  withDoor(approvals.command('show <approval-id>'))
    .description('one call that waits: what it would do, who asks, and who must agree')
    .action((id: string, options: DoorOptions) =>
      atDoor(io, options, async (door) => {
        const request = await door.approval(id)
        options.json ? printJson(io, request) : printApproval(io, request, Date.now())
      }),
    )

  decision(approvals, 'approve', 'say yes to this one call')
    .option('--grant <json>', 'your own signed grant, if you hold your own key: JSON, @file, or -')
    .action((id: string, options: DecideOptions & { readonly grant?: string }) =>
      decided(io, id, options, async () => ({
        decision: 'approve',
        ...(options.grant !== undefined && { grant: await objectInput(io, '--grant', options.grant) }),
      })),
    )
  decision(approvals, 'deny', 'say no to this one call: that ends it').action((id: string, options: DecideOptions) =>
    decided(io, id, options, async () => ({ decision: 'deny' })),
  )
  decision(approvals, 'edit', 'say yes to this call with other arguments: a new request takes its place')
    .requiredOption('--payload <json>', 'what the call may do instead: JSON, @file, or -')
    .action((id: string, options: DecideOptions & { readonly payload: string }) =>
      decided(io, id, options, async () => ({
        decision: 'edit',
        payload: await objectInput(io, '--payload', options.payload),
      })),
    )

  withDoor(approvals.command('watch'))
    .description('print new requests as they come, until Ctrl-C')
    .action((options: DoorOptions) => atDoor(io, options, (door) => watch(io, door, options)))
}
export default register

const noneForYou = 'none that you may decide about; one that you asked for: `ambit approvals show <approval-id>`'

const decision = (approvals: Command, word: ApprovalDecision['decision'], summary: string): Command =>
  withDoor(approvals.command(`${word} <approval-id>`))
    .description(`${summary}; needs the key of a registered approver in AMBIT_KEY`)
    .option('--rationale <text>', 'why: it is kept with the decision')

async function decided(
  io: Io,
  id: string,
  options: DecideOptions,
  wish: () => Promise<ApprovalDecision>,
): Promise<void> {
  return atDoor(io, options, async (door) => {
    const { rationale, json } = options
    const request = await door.decide(id, { ...(await wish()), ...defined({ rationale }) })
    if (json) return printJson(io, request)
    const { approval_id, state, invocation_id } = request
    if (approval_id !== id) line(io, `${id}: replaced by ${approval_id}, which has the edited arguments`)
    line(io, `${approval_id}: ${tallyOf(request)}`)
    if (state === 'approved')
      line(io, `whoever asked may now repeat the call with the id ${plain(invocation_id)}; it counts once`)
  })
}

const pollMs = 500
const pause = promisify(setTimeout)

/** New requests one line each, from those that wait already on. */
async function watch(io: Io, door: Door, { json }: DoorOptions): Promise<void> {
  const seen = new Set<string>()
  const stop = new AbortController()
  const off = io.onSignal(() => stop.abort())
  try {
    while (!stop.signal.aborted) {
      for (const request of (await door.approvals('pending')).toReversed()) {
        if (seen.has(request.approval_id)) continue
        seen.add(request.approval_id)
        if (json) line(io, jsonText(request))
        else line(io, `${paint(io, 'bold', request.approval_id)}  ${summary(request)}`)
      }
      await pause(pollMs, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  } finally {
    off()
  }
}

function summary(request: ApprovalRequest): string {
  const { capability, requested_by, policy, required, expires_at } = request
  const asks = `${requested_by.id} asks for ${capability.id} ${capability.version} with ${argumentsOf(request)}`
  return plain(`${asks}: ${policy.name}, ${demandsOf(required).map(demandText).join(' and ')}, until ${expires_at}`)
}

const demandText = ({ quorum, roles }: Demand): string => `${quorum} of ${roles.join(', ') || 'anyone who may'}`
