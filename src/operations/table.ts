import type { Operable } from './ambit.ts'
import { approvals } from './approvals.ts'
import { calls } from './calls.ts'
import { evidence } from './evidence.ts'
import { identity } from './identity.ts'
import { makeApi, type Perform } from './operation.ts'
import { runs } from './runs.ts'

/** Every operation that a user has, at every door. */
export const operations = { ...calls, ...runs, ...approvals, ...evidence, ...identity }

/** The object that users hold: the compiler holds the table to the interface that is written by hand. */
export const operable = (perform: Perform): Omit<Operable, 'run'> => makeApi(operations, perform)
