import type { Json } from './canonical.ts'

export type JsonObject = { readonly [key: string]: Json | undefined }

/** True for an object with members: no list, and not null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The same, of JSON. */
export const isJsonObject = (value: Json | undefined): value is JsonObject => isObject(value)

/** The members of an object; none of anything else. */
export const membersOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {})

/** What a value has under a name of its own: never what it inherits. */
export const memberOf = (value: Json | undefined, key: string): Json | undefined =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** An object without the members that are undefined. */
export const defined = <T extends object>(values: T): Defined<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>
