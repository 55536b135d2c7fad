type Triple = readonly [major: number, minor: number, patch: number]

/** Versions from `from` (included) to `to` (excluded). */
interface Span {
  readonly from: Triple
  readonly to: Triple
}

const lowest: Triple = [0, 0, 0]
const beyond: Triple = [Number.POSITIVE_INFINITY, 0, 0]

/**
 * True if all comparators hold (`1.2.3 =1.2.3 ^1.2 ~1.2 >=1 >1 <=1 <2 1.x 1 *`, joined by spaces). Tags are cut off
 * first; an unreadable range or version fits nothing.
 */
export function satisfies(version: string, range: string): boolean {
  const triple = tripleOf(version)
  const spans = range.trim().split(/\s+/).map(spanOf)
  return (
    triple !== undefined &&
    spans.every((span) => span !== undefined && compare(triple, span.from) >= 0 && compare(triple, span.to) < 0)
  )
}

export type Resolution =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly code: 'capability_not_found' | 'capability_version_unsupported' }

/** The exact version, else the highest in the range, else the only one. If both are named, they must agree. */
export function resolveVersion(
  available: readonly string[],
  wanted: { readonly exact?: string | null; readonly range?: string | undefined },
): Resolution {
  const { exact = null, range } = wanted
  if (available.length === 0 || (exact !== null && !available.includes(exact))) {
    return { ok: false, code: 'capability_not_found' }
  }
  const fitting = available.filter(
    (version) => (exact === null || version === exact) && (range === undefined || satisfies(version, range)),
  )
  const [highest, ...others] = fitting.toSorted(newestFirst)
  const unclear = exact === null && range === undefined && others.length > 0
  if (highest === undefined || unclear) return { ok: false, code: 'capability_version_unsupported' }
  return { ok: true, version: highest }
}

/** Of two versions that differ only in their tags, the one without comes first. */
function newestFirst(a: string, b: string): number {
  const order = compare(tripleOf(b) ?? lowest, tripleOf(a) ?? lowest)
  return order || a.length - b.length || (a < b ? 1 : -1)
}

const part = '(?:0|[1-9][0-9]{0,8})'
const exactForm = new RegExp(`^(${part})\\.(${part})\\.(${part})(?:[-+].*)?$`)
const comparatorForm = new RegExp(
  `^(\\^|~|>=|>|<=|<|=)?(?:[xX*]|(${part})(?:\\.(?:[xX*]|(${part})(?:\\.(?:[xX*]|(${part})(?:[-+].*)?))?)(?:\\.[xX*])?)?)$`,
)

function tripleOf(version: string): Triple | undefined {
  const match = exactForm.exec(version)
  return match === null ? undefined : [Number(match[1]), Number(match[2]), Number(match[3])]
}

function spanOf(comparator: string): Span | undefined {
  const match = comparatorForm.exec(comparator)
  if (match === null) return undefined
  const [, operator = '=', ...parts] = match
  const numbers = parts.filter((text) => text !== undefined).map(Number)
  const from: Triple = [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 0]
  const last = numbers.length - 1
  /** All versions that begin with the parts up to this place. */
  const upTo = (place: number): Triple => (numbers.length === 0 ? beyond : after(from, place))
  const spans: Readonly<Record<string, Span>> = {
    '>=': { from, to: beyond },
    '>': { from: upTo(last), to: beyond },
    '<=': { from: lowest, to: upTo(last) },
    '<': { from: lowest, to: from },
    '~': { from, to: upTo(Math.min(last, 1)) },
    '^': { from, to: upTo(leading(numbers)) },
    '=': { from, to: upTo(last) },
  }
  return spans[operator]
}

/** The first version whose part at this place is one higher. */
const after = ([major, minor, patch]: Triple, place: number): Triple =>
  place === 0 ? [major + 1, 0, 0] : place === 1 ? [major, minor + 1, 0] : [major, minor, patch + 1]

/** The place that `^` keeps: the first part that is not zero, or the last that was given. */
function leading(numbers: readonly number[]): number {
  const place = numbers.findIndex((number) => number > 0)
  return place < 0 ? numbers.length - 1 : place
}

const compare = (a: Triple, b: Triple): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
