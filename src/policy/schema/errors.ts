import { _, type CodeGen, type ErrorObject, Name } from 'ajv'
import type { Steps } from '../../base/steps.ts'

/** Each is an object of its own up to so many; behind these, all but the last are the same. */
export const errorsKeptMax = 256

/**
 * Lets the code of a compiler keep few errors. It goes by their number, so there must be as many as it counts, but all
 * of them would take all the memory there is. To carry them from one list to another takes a step each.
 */
export function sharedErrors(steps: Steps): (gen: CodeGen) => void {
  const known = new WeakSet<CodeGen>()
  const join = (errors: ErrorObject[] | null, more: ErrorObject[]): ErrorObject[] => {
    const all = errors ?? []
    steps.spend(more.length)
    for (const error of more) {
      share(all)
      all.push(error)
    }
    // Whoever found them holds on to the list until it is asked again.
    more.length = 0
    return all
  }
  return (gen) => {
    if (known.has(gen)) return
    known.add(gen)
    const { const: constant, assign } = gen
    gen.const = (name, ...rest) => {
      const made = constant.call(gen, name, ...rest)
      if (name === 'err') gen.code(_`${gen.scopeValue('func', { ref: share })}(${list})`)
      return made
    }
    gen.assign = (name, value, ...rest) => {
      if (String(name) !== 'vErrors' || !String(value).includes('.concat('))
        return assign.call(gen, name, value, ...rest)
      // Where there are none yet, it takes the errors of the part as they are, and does not copy its own.
      const more = _`((${list}) => ${value})(null)`
      return assign.call(gen, name, _`${gen.scopeValue('func', { ref: join })}(${list}, ${more})`)
    }
  }
}

const list = new Name('vErrors')

/** Before one more is added. */
function share(errors: ErrorObject[] | null): void {
  const shared = errors?.[errorsKeptMax - 1]
  if (errors && shared && errors.length > errorsKeptMax) errors[errors.length - 1] = shared
}
