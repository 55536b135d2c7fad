/** What a verifier looks at, in the order it is reported, and what it means that it passed. */
export const bundleMeanings = {
  shape: 'the bundle is well formed',
  tier: 'the bundle has the tier it claims, and the one demanded',
  hashes: 'every content hash is that of its event',
  chain: 'every event follows the one before, in one correlation of one host',
  commitments: 'every payload is the one its event commits to',
  root: 'the root is that of the content hashes',
  sequence: 'the sequence rises',
  completeness: 'the last event is the head of the correlation at export',
  signature: 'the header is signed by the key in the bundle',
  'key id': 'every key id is computed from its key',
  pin: 'the key is pinned, or handed over to by a pinned one',
  attestation: 'the host claims this key as its own',
  window: 'the key and the claim to it were valid when the bundle was made',
  anchors: 'the keys outside that vouch for the host signed for it',
  decision: 'every call record is well formed',
  coverage: 'who did what, in which order, is covered by the hashes',
  checkpoint: 'the bundle agrees with the signed log head',
} as const

export type CheckName = keyof typeof bundleMeanings
export const checkNames = Object.keys(bundleMeanings) as CheckName[]

export interface Check<Name = CheckName> {
  readonly name: Name
  /** `absent`: there was nothing to check, or only a part of it could be, and the message says which. */
  readonly verdict: 'pass' | 'fail' | 'absent'
  /** A JSON Pointer into the bundle, where it failed. */
  readonly at?: string
  readonly message: string
}

interface Fault<Name> {
  readonly check: Name
  readonly at: string
  readonly message: string
  /** The place of the event, beyond all of them if it is about none. */
  readonly index: number
}

/** Collects verdicts: of several faults of one check the first stands; a fault outweighs what is open, that a pass. */
export class Findings<Name extends string = CheckName> {
  readonly #meanings: Readonly<Record<Name, string>>
  readonly #faults = new Map<Name, Fault<Name>>()
  readonly #passed = new Set<Name>()
  readonly #partial = new Map<Name, string>()

  constructor(of: Readonly<Record<Name, string>>) {
    this.#meanings = of
  }

  get #names(): readonly Name[] {
    return Object.keys(this.#meanings) as Name[]
  }

  fail(check: Name, at: string, message: string, index = Number.POSITIVE_INFINITY): void {
    if (!this.#faults.has(check)) this.#faults.set(check, { check, at, message, index })
  }

  failEvent(check: Name, index: number, member: string, message: string): void {
    this.fail(check, `/events/${index}${member === '' ? '' : `/${member}`}`, message, index)
  }

  pass(...names: readonly Name[]): void {
    for (const name of names) this.#passed.add(name)
  }

  /** Not all of it could be looked at: no pass, whatever else is said. */
  leaveOpen(message: string, ...names: readonly Name[]): void {
    for (const name of names) this.#partial.set(name, message)
  }

  get sound(): boolean {
    return this.#faults.size === 0
  }

  failed(name: Name): boolean {
    return this.#faults.has(name)
  }

  checks(): Check<Name>[] {
    return this.#names.map((name): Check<Name> => {
      const fault = this.#faults.get(name)
      if (fault !== undefined) return { name, verdict: 'fail', at: fault.at, message: fault.message }
      const open = this.#partial.get(name)
      if (open === undefined && this.#passed.has(name)) return { name, verdict: 'pass', message: this.#meanings[name] }
      return { name, verdict: 'absent', message: open ?? 'nothing to check' }
    })
  }

  /** The fault that comes first in the chain; those about the bundle as a whole come after those about an event. */
  get first(): Fault<Name> | undefined {
    const faults = this.#names.flatMap((name) => this.#faults.get(name) ?? [])
    return faults.toSorted((a, b) => (a.index === b.index ? 0 : a.index - b.index))[0]
  }
}
