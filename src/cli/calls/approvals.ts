import { Option } from 'commander'
import type { ApprovalRequest, Demand } from '../../model/approval.ts'
import { approvalState } from '../../model/approval.ts'
import { runId } from '../../model/run-id.ts'
import type { operations } from '../../operations/table.ts'
import { demandsOf } from '../../policy/quorum.ts'
import { operationGroup, type View } from '../operation-command.ts'
import type { InputWords } from '../operation-options.ts'
import { type Io, line, paint, plain } from '../terminal/io.ts'
import { argumentsOf, printApproval, printApprovals, tallyOf } from './approval-card.ts'

const id = ['approval-id', 'see `ambit approvals list`'] as const
const states = approvalState.options.filter((state) => state !== 'withdrawn')

export default operationGroup('approvals', {
  list: {
    summary: 'calls that wait for a decision, with a key those that it may decide about, newest first',
    input: { state: false },
    own: (command) =>
      void command.addOption(
        new Option('--state <state>', 'which ones').choices([...states, 'all']).default('pending'),
      ),
    perform: async (list, { options }) => {
      const wanted = states.filter((state) => options['state'] === 'all' || options['state'] === state)
      const found = await Promise.all(wanted.map((state) => list({ state })))
      // Ids are made in the order of time.
      const newestFirst = (a: ApprovalRequest, b: ApprovalRequest) => (a.approval_id < b.approval_id ? 1 : -1)
      return { approvals: found.flatMap(({ approvals }) => approvals).toSorted(newestFirst) }
    },
    print: (io, { approvals }, { hasKey }) => printApprovals(io, approvals, Date.now(), hasKey ? noneForYou : 'none'),
  },
  show: {
    summary: 'one call that waits: what it would do, who asks, and who must agree',
    input: { id },
    print: (io, request) => printApproval(io, request, Date.now()),
  },
  decide: [
    vote('approve', 'say yes to this one call', {
      grant: ['--grant <json>', 'your own signed grant, if you hold your own key: JSON, @file, or -'],
    }),
    vote('deny', 'say no to this one call: that ends it'),
    vote('edit', 'say yes to this call with other arguments: a new request takes its place', {
      payload: ['--payload <json>', 'what the call may do instead: JSON, @file, or -', 'needed'],
    }),
  ],
  watch: {
    summary: 'print new requests as they come, from those that wait already on, until Ctrl-C',
    fixed: { pending: true },
    print: (io, request) => line(io, `${paint(io, 'bold', request.approval_id)}  ${summary(request)}`),
  },
})

/** The command of one decision, by its name. */
function vote(
  decision: 'approve' | 'deny' | 'edit',
  summary: string,
  more: InputWords = {},
): View<typeof operations.approvals.decide> {
  const rationale = ['--rationale <text>', 'why: it is kept with the decision'] as const
  return {
    command: decision,
    summary,
    help: 'Needs the key of a registered approver in AMBIT_KEY.',
    fixed: { decision },
    input: { id, rationale, grant: false, payload: false, ...more },
    print: printDecided,
  }
}

const noneForYou = 'none that you may decide about; one that you asked for: `ambit approvals show <approval-id>`'

function printDecided(io: Io, request: ApprovalRequest, { input }: { readonly input: { readonly id: string } }): void {
  const { approval_id, state, invocation_id, correlation } = request
  if (approval_id !== input.id) line(io, `${input.id}: replaced by ${approval_id}, which has the edited arguments`)
  line(io, `${approval_id}: ${tallyOf(request)}`)
  if (state !== 'approved') return
  if (runId.safeParse(correlation.correlation_id).success)
    line(
      io,
      `its run goes on where a host serves; otherwise its owner runs: ambit runs resume ${correlation.correlation_id}`,
    )
  else line(io, `the caller may now repeat the call with the id ${plain(invocation_id)}; it counts once`)
}

function summary(request: ApprovalRequest): string {
  const { capability, requested_by, policy, required, expires_at } = request
  const asks = `${requested_by.id} asks for ${capability.id} ${capability.version} with ${argumentsOf(request)}`
  return plain(`${asks}: ${policy.name}, ${demandsOf(required).map(demandText).join(' and ')}, until ${expires_at}`)
}

const demandText = ({ quorum, roles }: Demand): string => `${quorum} of ${roles.join(', ') || 'anyone who may'}`
