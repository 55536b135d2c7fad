/**
 * What follows from facts alone is worked out once, and kept as long as the first of them is. Facts are values that do
 * not change, so that what is kept and what is worked out anew are the same.
 */
export function kept<Facts extends readonly [object, ...unknown[]], T>(
  work: (...facts: Facts) => T,
): (...facts: Facts) => T {
  const known = new WeakMap<object, { readonly facts: Facts; readonly value: T }>()
  return (...facts) => {
    const found = known.get(facts[0])
    if (found?.facts.every((fact, at) => fact === facts[at])) return found.value
    const value = work(...facts)
    known.set(facts[0], { facts, value })
    return value
  }
}
