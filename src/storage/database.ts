import { Failure } from '../base/failure.ts'
import type { Value, Work } from './work.ts'

/** A database that runs `Work`. Drivers know SQL and durability, and nothing of what is stored. */
export interface Database {
  readonly dialect: 'sqlite' | 'postgres'

  /** Work that shares a lane is committed together; work of different lanes may run at the same time. */
  lane(tenant: string): string

  /** Runs the work against one unchanging snapshot. It must not write. An embedded database has the answer at once. */
  read<T>(work: () => Work<T>): T | Promise<T>

  /**
   * Runs the work as one transaction. When there is an answer, all of it is durable as configured; when it
   * fails with anything but `store.unavailable`, none of it happened. After `store.unavailable` during the
   * commit itself either may be true (`data.outcome` is `unknown`). The work is run again from its start when the
   * database asks for it. A broken unique key fails with `Duplicate`.
   * Work with a `queue` runs only when no other work with the same one does, in this process or any other.
   */
  write<T>(work: () => Work<T>, queue?: string): T | Promise<T>

  /** A number that changes once others have written, read inside a `write`; missing if the database cannot tell. */
  readonly version?: () => number

  /** Waits for work under way and lets go of everything. */
  close(): Promise<void>
}

/** A unique key already exists. What that means is the caller's to say. */
export class Duplicate extends Error {
  override readonly name = 'Duplicate'
}

/** The value, unless it is text with a NUL or a lone surrogate: databases cut, change or refuse it, each in its own way. */
export function storable(value: Value): Value {
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
    throw new Failure('field.invalid', 'text with a NUL or a lone surrogate cannot be stored')
  return value
}
