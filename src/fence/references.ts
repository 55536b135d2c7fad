import { fold } from './fold.ts'

/** What is read of a character reference behind its `&`, with one more folded character; undefined if that is no part of it. */
export function extend(read: string, char: string): string | undefined {
  const longer = (read + char).replace(/^(#x?)0+(?=[\da-f])/, '$1')
  if (prefixes.has(longer)) return longer
  if (!/^#(?:\d+|x[\da-f]*)$/.test(longer)) return undefined
  // So many digits are beyond the last code point, and so is whatever follows.
  return longer.length > 10 ? read : longer
}

/** What a reference stands for if it ends here, folded; undefined if it has only begun. A semicolon is not needed. */
export function meaningOf(read: string): string | undefined {
  if (!read.startsWith('#')) return names.get(read)
  const code = read.startsWith('#x') ? Number.parseInt(read.slice(2), 16) : Number.parseInt(read.slice(1), 10)
  return Number.isNaN(code) ? undefined : fold(code)
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
