import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { rankOf } from '../../compile/rules.ts'
import type { PackPermission } from '../../model/contract/pack.ts'
import { isBound, refusalOf } from './commit.ts'
import { providedBy } from './evidence.ts'
import type { Loop } from './facts.ts'
import { approvalFor, ruleCall } from './modes.ts'
import type { CallMove } from './next-move.ts'

/** Why a call goes no further, in the words of a run. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly pointer?: string
}

type Asked = Pick<CallMove, 'capability_id' | 'args' | 'step' | 'requested' | 'highest' | 'idempotency_key'>

/** A permission that the arguments do not keep to: all that fit the role apply. Then the declared tier. */
export function argumentProblem(call: Asked, loop: Loop): Problem | undefined {
  const { capability_id, args, requested, highest, idempotency_key = 'ik_0000000000000000' } = call
  for (const { arg_constraints = {} } of permissionsFor(capability_id, loop))
    for (const [name, constraint] of Object.entries(arg_constraints)) {
      const value = Object.hasOwn(args, name) ? args[name] : undefined
      if (!keepsTo(value, constraint))
        return { code: 'arg_constraint', message: `argument ${quote(name)} is not permitted`, pointer: `/${name}` }
    }
  if (!/^ik_[a-z0-9]{16}$/.test(idempotency_key))
    return { code: 'idempotency_key_invalid', message: 'the key of the effect is no `ik_` and 16 letters or digits' }
  if (rankOf(requested) > rankOf(highest))
    return { code: 'mode_above_highest', message: `mode \`${requested}\` is above what the capability may have` }
  const effective = ruleCall({ capability_id, args }, loop, true)?.effective ?? requested
  if (rankOf(effective) <= rankOf(requested)) return undefined
  return {
    code: 'approval_mode_mismatch',
    message: `the call needs mode \`${effective}\`, and declares \`${requested}\``,
  }
}

/** A condition of the decision, or a demand of the tier, that is not met. */
export function demandProblem(call: Asked, loop: Loop): Problem | undefined {
  const plan = loop.progress.plans.at(-1)
  const isDeciding = plan !== undefined && isBound(call, plan, loop)
  const provides = providedBy(loop, { id: call.step, tool: call.capability_id })
  const refused = isDeciding ? refusalOf({ ...call, provides }, loop) : undefined
  if (refused !== undefined) return refused
  const ruling = ruleCall(call, loop, true)
  if (ruling === undefined || !approvalFor(ruling, loop.context.safety_mode).missing) return undefined
  return { code: 'approval_gate_missing', message: `no gate covers a call of mode \`${ruling.effective}\` here` }
}

function permissionsFor(capabilityId: string, { packs, context }: Loop): readonly PackPermission[] {
  const roles = [undefined, context.agent.role, context.user.role]
  return packs.packs.permissions.filter(
    ({ adapter_id, capability, role }) => `${adapter_id}.${capability}` === capabilityId && roles.includes(role),
  )
}

type Constraint = NonNullable<PackPermission['arg_constraints']>[string]

function keepsTo(value: Json | undefined, { min, max, enum: among, required, pattern }: Constraint): boolean {
  if (value === undefined) return required !== true
  if ((min !== undefined || max !== undefined) && typeof value !== 'number') return false
  if (min !== undefined && (value as number) < min) return false
  if (max !== undefined && (value as number) > max) return false
  if (among !== undefined && !among.some((each) => each === value)) return false
  return pattern === undefined || (typeof value === 'string' && new RegExp(`^(?:${pattern})$`, 'u').test(value))
}
