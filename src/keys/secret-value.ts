import { inspect } from 'node:util'

/** A secret that shows only its handle, however it is printed; the value comes out where it is asked for by name. */
export interface SecretValue {
  /** `secret:NAME` */
  readonly handle: string
  reveal(): string
  use<T>(work: (value: string) => T): T
  toString(): string
  toJSON(): string
}

export function secretValue(handle: string, value: string): SecretValue {
  const shown = (): string => handle
  return Object.freeze({
    handle,
    reveal: () => value,
    use: <T>(work: (value: string) => T): T => work(value),
    toString: shown,
    toJSON: shown,
    [inspect.custom]: shown,
  })
}
