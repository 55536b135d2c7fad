import { Failure, quote } from '../base/failure.ts'
import { pointerOf } from '../base/pointer.ts'

/** A place in a manifest: the file or agent it is in, `''` if that goes without saying, and a JSON Pointer. */
export interface Place {
  readonly where: string
  readonly pointer: string
}

export const below = ({ where, pointer }: Place, ...keys: readonly (string | number)[]): Place => ({
  where,
  pointer: pointer + pointerOf(keys),
})

type Code = 'manifest.invalid' | 'template.invalid'

export const invalidAt = ({ where, pointer }: Place, message: string, help?: string, code: Code = 'manifest.invalid') =>
  new Failure(
    code,
    [where, pointer === '' ? '' : quote(pointer), message].filter((part) => part !== '').join(': '),
    { pointer },
    help,
  )
