import { unescapedKey } from '../../base/pointer.ts'

/** A text without one layer of escapes. */
export interface Unescaped {
  readonly text: string
  /** Where in the text with escapes a place of this one is. */
  readonly placeOf: (at: number) => number
}

/** Takes off one layer of escapes of JSON, addresses, HTML and Markdown; without backslashes, those of paths stay. */
export function unescaped(text: string, backslashes = true): Unescaped | undefined {
  const escapes = backslashes ? allEscapes : otherEscapes
  const edits: Edit[] = []
  let shorter = 0
  const plain = text.replace(escapes, (written: string, start: number) => {
    const char = charOf(written)
    if (char === undefined) return written
    edits.push({ at: start - shorter, size: char.length, start, end: start + written.length })
    shorter += written.length - char.length
    return char
  })
  return edits.length === 0 ? undefined : { text: plain, placeOf: (at) => placeOf(edits, at) }
}

/** A character in the place of its escape. */
interface Edit {
  readonly at: number
  readonly size: number
  readonly start: number
  readonly end: number
}

/** A place inside of an escape is its start. */
function placeOf(edits: readonly Edit[], at: number): number {
  let [low, high] = [0, edits.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((edits[middle]?.at ?? 0) <= at) low = middle + 1
    else high = middle
  }
  const last = edits[low - 1]
  if (last === undefined) return at
  return at < last.at + last.size ? last.start : last.end + (at - last.at - last.size)
}

const hex = '[\\dA-Fa-f]'
const tail = `%[89ABab]${hex}`

const others = [
  `%(?:u${hex}{4}|[0-7]${hex}|[CDcd]${hex}${tail}|[Ee]${hex}(?:${tail}){2}|[Ff][0-4](?:${tail}){3})`,
  `&(?:#\\d{1,7}|#[Xx]${hex}{1,6}|[A-Za-z][A-Za-z0-9]{1,7});`,
  // As in our own pointers to what is wrong with a value.
  '~[01]',
]
const otherEscapes = new RegExp(others.join('|'), 'g')
const allEscapes = new RegExp([`\\\\(?:u${hex}{4}|x${hex}{2}|[ -/:-@[-\`{-~bfnrt])`, ...others].join('|'), 'g')

function charOf(written: string): string | undefined {
  if (written.startsWith('&#')) return charOfCode(Number(written.slice(2, -1).replace(/^x/i, '0x')))
  if (written.startsWith('~')) return unescapedKey(written)
  if (written.startsWith('&')) return named.get(written.slice(1, -1))
  if (written[1] === 'u' || written[1] === 'x') return String.fromCharCode(Number.parseInt(written.slice(2), 16))
  // One character of ASCII, as most are.
  if (written.startsWith('%') && written.length === 3) return String.fromCharCode(Number.parseInt(written.slice(1), 16))
  if (written.startsWith('%')) return Buffer.from(written.replaceAll('%', ''), 'hex').toString()
  return controls[written.slice(1)] ?? written.slice(1)
}

const charOfCode = (code: number): string | undefined => (code > 0x10ffff ? undefined : String.fromCodePoint(code))

const controls: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** The names of the signs of ASCII, and from the blank that does not break all of Latin 1 in its order. */
const named: ReadonlyMap<string, string> = new Map([
  ...`excl! quot" num# dollar$ percnt% amp& apos' lpar( rpar) ast* plus+ comma, period. sol/ colon: semi; lt< equals= gt>
      quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ grave\` lcub{ lbrace{ vert| verbar| rcub} rbrace}`
    .split(/\s+/)
    .map((one): [string, string] => [one.slice(0, -1), one.slice(-1)]),
  ...`nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para
      middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave
      Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc
      Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc
      iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`
    .split(/\s+/)
    .map((name, index): [string, string] => [name, String.fromCharCode(0xa0 + index)]),
])
