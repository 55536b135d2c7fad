import type { Json } from '../../base/canonical.ts'

/**
 * How many times as long as usual it takes to say where in a value something is. That is done at every part that a
 * schema holds against a member, and `~` and `/` in names are then written otherwise.
 */
export const pathFactor = (value: Json): number => 1 + (pathSteps(value) >> 4)

/** Of the path that takes the most. */
function pathSteps(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((most: number, item) => Math.max(most, pathSteps(item)), 0)
  let most = 0
  for (const [name, member] of Object.entries(value)) most = Math.max(most, nameSteps(name) + pathSteps(member))
  return most
}

const nameSteps = (name: string): number =>
  (name.length >> 4) + (/[~/]/.test(name) ? 4 * (name.split(/[~/]/).length - 1) : 0)
