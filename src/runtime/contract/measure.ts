import { measureWith } from '../../compile/compile.ts'
import { makeTokenCounter } from '../../tokens/count.ts'

/** What counts the tokens of all runs: instructions and earlier messages come again in every one. */
export const estimator = 'o200k_base'
export const measure = measureWith(makeTokenCounter({ entriesMax: 4_096 }).count)
