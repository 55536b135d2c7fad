import { micro } from '../base/amount.ts'
import { limits } from '../base/limits.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { Measure } from '../model/config/budget.ts'

/** The most that one call may take, by what its capability declares: that is reserved before it starts. */
export const worstCase = (descriptor: CapabilityDescriptor): Readonly<Record<Measure, number>> => {
  const { worst_case = {}, autonomy } = descriptor.metadata ?? {}
  return {
    calls: 1,
    time_ms: timeoutMsOf(descriptor),
    cost: micro(worst_case.cost ?? autonomy?.spend_units ?? 0, 'up'),
    bytes: worst_case.bytes ?? limits.eventBytesMax,
  }
}

/** When a handler is cut off. */
export const timeoutMsOf = ({ timeout_s = limits.callTimeoutMs / 1000 }: CapabilityDescriptor): number =>
  // 2.007 seconds are 2,007 milliseconds, though their product is a little more.
  Math.ceil(Math.min(Number((timeout_s * 1000).toPrecision(12)), limits.callTimeoutMaxMs))
