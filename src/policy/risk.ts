import { risk } from '../model/capability.ts'

export type Risk = (typeof risk.options)[number]

/** Where a risk stands in their order, from the lowest; before all of them if it is none. */
export const rankOf = (given: unknown): number => risk.options.indexOf(given as Risk)

/** The higher of two: what something says of itself may raise its risk, never lower it. */
export const higherRisk = (one: Risk, other: unknown): Risk => (rankOf(other) > rankOf(one) ? (other as Risk) : one)
