import type { Json } from '../../../base/canonical.ts'
import { objectHash } from '../../../base/hash.ts'
import type { JsonObject } from '../../../base/object.ts'
import type { CallDemands } from '../../../gateway/run.ts'
import { argumentProblem, demandProblem } from '../../../runs/plan/demands.ts'
import { evidenceRoot } from '../../../runs/plan/evidence.ts'
import type { Loop } from '../../../runs/plan/facts.ts'
import { ruleCall } from '../../../runs/plan/modes.ts'
import type { CallMove } from '../../../runs/plan/next-move.ts'
import { readProgress } from '../../../runs/plan/progress.ts'
import { approvalRecords } from '../../../storage/tables/approvals.ts'
import { callIdAt, makeCall } from '../calls.ts'
import type { RunNode } from '../tree.ts'
import { type Effect, openEffect } from './effect.ts'
import { type Governed, loopFacts } from './governed.ts'

/** Makes the call of one step through the gateway, which judges it again with the arguments it will run with. */
export async function callStep(node: RunNode, governed: Governed, move: CallMove): Promise<void> {
  const { step, capability_id: capabilityId, args, attempt, requested, effective, highest } = move
  const loop = loopOf(node, governed)
  const ruling = ruleCall({ capability_id: capabilityId, args }, loop, true)
  const evidence = evidenceRoot(loop)
  const callId = callIdAt(node, move.callPlace)
  const policy_decision_id = callId.replace('tool_', 'pol_')
  const { idempotency_key } = move
  const approver = await approverOf(node, callId)
  const [originator] = governed.context.agent.principal_chain
  const effect =
    idempotency_key === undefined
      ? undefined
      : openEffect(node, { key: idempotency_key, capabilityId, callId, args, originator: originator?.id ?? '' })
  const started = { capability_id: capabilityId, step, attempt, requested, effective, highest }
  await makeCall(node, {
    ...{ callId, tool: capabilityId, capabilityId, payload: args as { [member: string]: Json } },
    surface: new Set(governed.compiled.context_ledger.tools),
    governed: {
      ...{ demands: demandsOf(node, governed, move, effect), evidence, policy_decision_id, effective },
      ...(effect && { effect }),
      evidence_snapshot: objectHash(evidence as Json),
      started: {
        ...started,
        evidence_refs: [...move.evidence_refs],
        ...(idempotency_key !== undefined && { idempotency_key }),
      },
      finished: ({ status, idempotent_of }) => ({
        ...(idempotent_of !== undefined && { idempotent_of }),
        ...{ step, policy_decision_id, rule_ids: [...(ruling?.matched ?? [])], risk_tags: [effective] },
        ...(approver !== undefined && (status === 'ok' || status === 'completed') && { approver }),
        mutations: status === 'completed' ? mutationsOf(loop, capabilityId, callId) : [],
      }),
    },
  })
}

/** Who has approved the call, where it waits for people and they have decided. */
async function approverOf({ tree, record }: RunNode, callId: string): Promise<string | undefined> {
  const waited = tree.journal.waitsOf(record.run_id).get(callId)
  if (waited === undefined) return undefined
  const { store, tenant } = tree.host.deps
  const found = await store.read(() => approvalRecords.find(tenant, waited))
  return found?.request.votes.find(({ decision }) => decision === 'approve')?.approver
}

const loopOf = (node: RunNode, governed: Governed): Loop => ({
  ...loopFacts(node, governed),
  progress: readProgress(node.tree.journal.eventsOf(node.record.run_id)),
})

/** What the gateway asks of packs and tiers, with the arguments as they are by then. */
function demandsOf(node: RunNode, governed: Governed, move: CallMove, effect?: Effect): CallDemands {
  const asked = (args: Json) => ({ ...move, args: args as JsonObject })
  return {
    rejects: async (args) => {
      const loop = loopOf(node, governed)
      return argumentProblem(asked(args), loop) ?? (await delegationProblem(node, governed, move))
    },
    blocks: (args) => demandProblem(asked(args), loopOf(node, governed)),
    ...(effect && { repeats: effect.check }),
  }
}

/** From tier `delegated` on, and in a run of such a tier at all, a user delegates, and their token is there. */
async function delegationProblem(node: RunNode, { context }: Governed, { effective }: CallMove) {
  const tiers = ['delegated', 'destructive']
  if (!tiers.includes(effective) && !tiers.includes(context.safety_mode)) return undefined
  const { delegation } = context.user
  if (delegation === undefined)
    return { code: 'delegation_required', message: 'the call acts for a user who delegates' }
  const { token_ref } = delegation
  if (token_ref === undefined) return undefined
  const { secret } = node.tree.host.deps
  const isThere = await secret(`secret:${token_ref.replace(/^secret:/, '')}`).then(
    () => true,
    () => false,
  )
  return isThere ? undefined : { code: 'delegation_invalid', message: 'the token of the delegation is not there' }
}

/** One entry for each effect that the capability declares. */
function mutationsOf({ packs }: Loop, capabilityId: string, callId: string): string[] {
  const declared = packs.packs.adapters.flatMap(({ adapter_id, capabilities }) =>
    capabilities.flatMap((each) =>
      typeof each !== 'string' && `${adapter_id}.${each.name}` === capabilityId ? (each.mutations ?? []) : [],
    ),
  )
  return (declared.length > 0 ? declared : ['effect']).map((name) => `${name}:${callId}`)
}
