/** The answer of a verifier about one statement: what it says, or the first check it fails. */
export type Verified<T> = { readonly ok: true; readonly value: T } | Refused

export interface Refused<C extends string = string> {
  readonly ok: false
  readonly check: C
  readonly message: string
}

export const refused = <C extends string>(check: C, message: string): Refused<C> => ({ ok: false, check, message })
