import { fold } from './fold.ts'

/** A character reference being read, from behind its `&`. */
export interface Reference {
  name: string
  base: 0 | 10 | 16
  value: number | undefined
}

export const newReference = (): Reference => ({ name: '', base: 0, value: undefined })

/** Whether the reference stands for something if it ends here. A semicolon behind it is not needed. */
export const canEnd = (reference: Reference): boolean => reference.value !== undefined || names.has(reference.name)

/** What the reference stands for, folded. */
export const meaning = (reference: Reference): string =>
  reference.value === undefined ? (names.get(reference.name) ?? '') : fold(reference.value)

/** Takes one more folded character, or says that it is no part of the reference. */
export function extend(reference: Reference, char: string): boolean {
  if (reference.base !== 0) return extendNumber(reference, char)
  if (reference.name === '#') return startNumber(reference, char)
  if (!prefixes.has(reference.name + char)) return false
  reference.name += char
  return true
}

function startNumber(reference: Reference, char: string): boolean {
  reference.base = char === 'x' ? 16 : 10
  return char === 'x' || extendNumber(reference, char)
}

function extendNumber(reference: Reference, char: string): boolean {
  const digit = '0123456789abcdef'.indexOf(char)
  if (digit < 0 || digit >= reference.base) return false
  reference.value = Math.min((reference.value ?? 0) * reference.base + digit, 0x110000)
  return true
}

// The names of HTML, without case, that decode to something of a bracket, a reference or a name of ours, to a mark that
// may part its words, or to nothing visible. All others decode to what ends a name anyway, as their ampersand does.
const words: Readonly<Record<string, string>> = {
  '<': 'lt lsaquo lang langle leftanglebracket laquo ll nestedlessless nlt nless notless',
  '&': 'amp',
  '#': 'num',
  ';': 'semi',
  '/': 'sol frasl',
  '\\': 'bsol setminus backslash setmn smallsetminus ssetmn',
  _: 'lowbar underbar hyphen dash ndash mdash horbar minus',
  '.': `period colon comma middot centerdot bull bullet plus ast midast excl quest quot apos equals commat percnt
    dollar lpar rpar lsqb lbrack rsqb rbrack lcub lbrace rcub rbrace hat`,
  '': `nbsp nonbreakingspace shy tab newline ensp emsp emsp13 emsp14 numsp puncsp thinsp thinspace hairsp verythinspace
    mediumspace thickspace zerowidthspace negativethinspace negativemediumspace negativethickspace negativeverythinspace
    nobreak zwj zwnj lrm rlm af applyfunction ic invisiblecomma it invisibletimes`,
  a: 'ordf alpha acy',
  b: 'bernou bernoullis beta vcy softcy',
  c: 'cayleys complexes scy',
  d: 'dd differentiald capitaldifferentiald',
  e: 'ee exponentiale expectation epsilon epsi epsiv iecy iocy jukcy',
  i: 'ii im image imagline imagpart imaginaryi imath inodot iota iukcy yicy',
  l: 'ell lagran laplacetrf',
  m: 'mellintrf phmmat mu micro mcy',
  n: 'naturals nu eta pcy',
  o: 'ordm order orderof omicron sigma ocy',
  p: 'primes rho rcy',
  s: 'os circleds dscy',
  k: 'kappa kappav kcy',
  r: 'gcy',
  t: 'tau tcy',
  u: 'upsilon upsi',
  w: 'omega',
  y: 'gamma ucy',
  1: 'sup1',
  2: 'sup2',
  3: 'sup3',
  no: 'numero',
}

// Of letters in other forms, and with marks.
const endings =
  'fr opf scr acute grave circ uml tilde ring cedil caron macr breve dot ogon dblac slash strok midot'.split(' ')

const names = new Map<string, string>([
  ...Object.entries(words).flatMap(([value, list]) => list.split(/\s+/).map((name) => [name, value] as const)),
  ...[...'abcdefghijklmnopqrstuvwxyz'].flatMap((letter) => endings.map((ending) => [letter + ending, letter] as const)),
])

const prefixes = new Set(['#', ...[...names.keys()].flatMap((name) => [...name].map((_, at) => name.slice(0, at + 1)))])
