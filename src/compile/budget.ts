import type { Allocation, Bucket, RunBudget, RunContext, Tier } from '../model/contract/context.ts'
import { bucketNames } from '../model/contract/context.ts'
import type { ContextPack } from '../model/contract/pack.ts'
import type { InvokeRequest, TrustedContext } from '../model/contract/request.ts'
import { defaultBudget, longRunning } from './envelope.ts'
import { lowestTier } from './rules.ts'

type Clamp = RunContext['metadata']['ambit']['clamps'][number]

/** What a tenant allows its runs at most; what is not said here is bounded by packs and defaults alone. */
export interface TenantCeilings {
  readonly safety_mode?: Tier | undefined
  readonly run_budget?: { readonly [Name in Member]?: number | undefined } | undefined
}

interface BudgetWish {
  readonly mode: InvokeRequest['mode']
  readonly runtime: InvokeRequest['runtime']
  readonly trusted: TrustedContext
  readonly packs: readonly ContextPack[]
  readonly ceilings: TenantCeilings
}

const members = ['total_tokens', 'max_tool_calls', 'max_replan_attempts', 'wall_clock_ms', 'max_cost_cents'] as const
type Member = (typeof members)[number]

/** The budget of a run: of what request, packs and tenant say of each member the least. What was asked and not given is noted. */
export function makeBudget(wish: BudgetWish): { readonly budget: RunBudget; readonly clamps: readonly Clamp[] } {
  const { mode, runtime, trusted, packs, ceilings } = wish
  const active = mode === 'long_running' ? { wall_clock_ms: longRunning.wall_clock_ms } : {}
  const byPacks = packs.map(({ pack_meta }) => pack_meta.environment_defaults?.run_budget ?? {})
  const hints: readonly Partial<Record<Member, number | undefined>>[] = [runtime, trusted.run_budget ?? {}]
  const clamps: Clamp[] = []
  const least = (member: Member): number => {
    const usual = { ...defaultBudget, ...active }[member]
    const ofPacks = byPacks.flatMap((each) => each[member] ?? [])
    const allowed = Math.min(
      ofPacks.length > 0 ? Math.min(...ofPacks) : usual,
      ceilings.run_budget?.[member] ?? Number.POSITIVE_INFINITY,
    )
    const said = hints.flatMap((each) => each[member] ?? [])
    const hint = said.length > 0 ? Math.min(...said) : undefined
    if (hint !== undefined && hint > allowed) {
      const by = allowed === ceilings.run_budget?.[member] ? 'tenant' : ofPacks.length > 0 ? 'pack' : 'default'
      clamps.push({ member, asked: hint, given: allowed, by })
    }
    return Math.min(hint ?? allowed, allowed)
  }
  const named = Object.fromEntries(members.map((member) => [member, least(member)])) as Record<Member, number>
  const wanted = trusted.run_budget?.bucket_tokens ?? byPacks.find(({ bucket_tokens }) => bucket_tokens)?.bucket_tokens
  return {
    budget: { ...named, bucket_tokens: divide(named.total_tokens, wanted ?? defaultBudget.bucket_tokens) },
    clamps,
  }
}

/** Buckets in these proportions that sum to the total. */
function divide(total: number, wanted: Allocation): Allocation {
  const sum = bucketNames.reduce((all, bucket) => all + wanted[bucket], 0)
  if (sum === total) return wanted
  const shares = bucketNames.map((bucket): [Bucket, number] => [
    bucket,
    Math.floor((wanted[bucket] * total) / Math.max(sum, 1)),
  ])
  const rest = total - shares.reduce((all, [, share]) => all + share, 0)
  return Object.fromEntries(
    shares.map(([bucket, share]) => [bucket, bucket === 'evidence' ? share + rest : share]),
  ) as Allocation
}

/** The tier of a run: what trusted code asks or the packs say, and never above what tenant and packs allow. */
export function safetyModeOf({ trusted, packs, ceilings }: Pick<BudgetWish, 'trusted' | 'packs' | 'ceilings'>): Tier {
  const byPacks = packs.flatMap(({ pack_meta }) => pack_meta.environment_defaults?.safety_mode ?? [])
  const asked = trusted.safety_mode ?? lowestTier(byPacks) ?? 'read_only'
  return lowestTier([asked, ...(ceilings.safety_mode === undefined ? [] : [ceilings.safety_mode])]) ?? 'read_only'
}
