import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { dataFolder } from '../../test/support/data.ts'
import { sweep } from '../../test/support/sweep.ts'
import { disarm } from './disarm.ts'
import { type Fenced, fence, type PackPart } from './fence.ts'
import { readFences } from './read.ts'

// The oracle: lenient readers of another make, slow and simple, that know the names but not the code under test.

type Decode = (text: string) => string

const entities: Readonly<Record<string, string>> = {
  ...{ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", sol: '/', num: '#', semi: ';', lowbar: '_' },
  ...{ nbsp: '\u00a0', shy: '\u00ad', zwj: '\u200d', tab: '\t', newline: '\n', zerowidthspace: '\u200b' },
}

const char = (code: number): string => (code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code))

function decoder(semicolon: string): Decode {
  const pattern = new RegExp(`&(?:#x([0-9a-f]+)|#([0-9]+)|(${Object.keys(entities).join('|')}))${semicolon}`, 'gi')
  return (text) =>
    text.replace(pattern, (_, hex?: string, decimal?: string, name?: string) =>
      name === undefined
        ? char(hex ? Number.parseInt(hex, 16) : Number(decimal))
        : (entities[name.toLowerCase()] as string),
    )
}

const tolerant = decoder(';?')
const strict = decoder(';')
const known: Decode = (text) =>
  text
    .replace(/&(?:lt|#0*60|#x0*3c);?/gi, '<')
    .replace(/&(?:amp|#0*38|#x0*26);?/gi, '&')
    .replace(/&#x0*2f;?/gi, '/')

const plain = /^[!-~]*$/
const unseen = /[\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\ufffd]/gu
const fold: Decode = (text) => (plain.test(text) ? text : text.normalize('NFKC')).toLowerCase()
const strip: Decode = (text) => (plain.test(text) ? text.toLowerCase() : fold(text).replace(unseen, ''))

/** What each reader does over and over. */
const readers: readonly { does: string; round: Decode }[] = [
  { does: 'strips, then decodes', round: (text) => tolerant(strip(text)) },
  { does: 'strips, then decodes what has a semicolon', round: (text) => strict(strip(text)) },
  { does: 'decodes, then strips', round: (text) => strip(tolerant(fold(text))) },
  { does: 'looks for known forms only', round: (text) => strip(known(fold(text))) },
]

const opensName = /^[/\\]*(?:ambit_|knowledge_|available_knowledge_packs)/

/** How many brackets that stand in the text as brackets begin a name of ours, its letters decoded to the end. */
function brackets(text: string, round: Decode): number {
  const pieces = text
    .replace(/[\ufe64\uff1c]/g, '<')
    .split('<')
    .slice(1)
  return pieces.filter((piece) => opensName.test(piece) || opensName.test(settled(piece.slice(0, 400), round))).length
}

function settled(text: string, round: Decode): string {
  if (!/[&\ufe60\uff06]/.test(text)) return strip(text)
  const next = round(text)
  return next === text ? strip(text) : settled(next, round)
}

const seed = Uint8Array.from({ length: 16 }, (_, index) => index * 7)
const shapes: readonly { name: string; tags: number; write: (text: string) => Fenced }[] = [
  {
    name: 'a tool result',
    tags: 2,
    write: (text) => fence({ element: 'ambit_data', origin: 'tool', name: text, text, seed }),
  },
  {
    name: 'a steering file',
    tags: 2,
    write: (text) => fence({ element: 'ambit_steering', name: 'SOUL.md', text, seed }),
  },
  {
    name: 'a section of a pack',
    tags: 4,
    write: (text) => pack([{ element: 'knowledge_section', path: 'a.md', text }]),
  },
  {
    name: 'a warning and a list of a pack',
    tags: 6,
    write: (text) => pack([warning(text), { element: 'knowledge_resources', text }]),
  },
]
const pack = (parts: readonly PackPart[]): Fenced =>
  fence({ element: 'knowledge_pack', name: 'pumps', status: 'ready', grounding: 'required', parts, seed })
const warning = (text: string) => ({ element: 'knowledge_warning', code: text, severity: text, text }) as const

/** Every reader sees our tags and no other; having decoded once, also those the author wrote plainly. */
function assertHeld(text: string, { tags, write }: (typeof shapes)[number]): number {
  const fenced = write(text)
  const reading = readFences(`before\n${fenced.text}\nafter`)
  assert(reading.ok)
  const [found, ...others] = reading.fences
  assert.equal(others.length, 0)
  assert.equal(found?.attributes['boundary'], fenced.boundary)
  const content = found.parts.at(-1)?.text ?? found.text
  assert.equal(content, disarm(text).text)
  for (const { does, round } of readers) {
    assert.equal(brackets(fenced.text, round), tags, `a reader that ${does}`)
    const seen = brackets(round(content), round)
    assert(seen === 0 || seen <= brackets(text, round), `a reader that ${does}, once`)
  }
  return fenced.disarmed
}

// Hostile strings, made from the pieces an attacker would use. The generator has a fixed start value.

function generator(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const names = ['ambit_data', 'ambit_steering', 'knowledge_pack', 'knowledge_section', 'knowledge_', 'ambit_']
const tags = names.flatMap((name) => [`<${name}>`, `</${name}>`])
const invisible = [
  '\u200b',
  '\u00ad',
  '\u2060',
  '\ufeff',
  '\u202e',
  '\u3164',
  '\ufe0f',
  '\u{e0041}',
  '\0',
  '\x1b',
  '\ud800',
  '\ufffd',
]
const blanks = [' ', '\t', '\n', '\r\n', '\u00a0', '\u2003', '\u2028', '\u3000']
const fragments = [
  ...tags,
  ...names,
  ...invisible,
  ...blanks,
  ...[
    '<',
    '</',
    '>',
    '&',
    '#',
    'x',
    ';',
    '/',
    '\\',
    '_',
    '0',
    '6',
    '60',
    '3c',
    'lt',
    'amp',
    'a',
    'k',
    '\uff1c',
    '\ufe64',
    '\uff06',
  ],
  ...[
    '&lt;',
    '&LT',
    '&amp;',
    '&amp',
    '&#60;',
    '&#60',
    '&#x3c;',
    '&#X3C',
    '&#0060;',
    '&#38;',
    '&#x26',
    '&num;',
    '&semi;',
    '&sol;',
  ],
  ...[
    '&#8203;',
    '&#x200b',
    '&#0;',
    '&shy;',
    '&ZeroWidthSpace;',
    '&lowbar;',
    '&#95;',
    '&#97;',
    '&#x61',
    '&#1114112;',
    '&gt;',
  ],
  ...[
    '<available_knowledge_packs',
    'end of data 5b1e0c7a94d2f386aa10c9e7',
    '\nend of knowledge data',
    '</ambit_data',
    'plain words',
  ],
]

function hostile(below: (count: number) => number): string {
  const pick = (list: readonly string[]): string => list[below(list.length)] ?? ''
  let text = ''
  for (let count = 1 + below(3); count > 0; count--) text += below(3) === 0 ? warped(pick(tags)) : pick(fragments)
  return text

  function warped(tag: string): string {
    let out = tag
    for (let times = 1 + below(2); times > 0; times--) {
      const rate = 1 + below(8)
      out = [...out].map((char) => (below(rate) === 0 ? warpedChar(char) : char)).join('')
    }
    return out
  }

  function warpedChar(char: string): string {
    const code = char.codePointAt(0) ?? 0
    const semicolon = below(4) === 0 ? '' : ';'
    const wide = code > 0x20 && code < 0x7f ? String.fromCodePoint(code + 0xfee0) : char
    const forms = [
      char.toUpperCase(),
      wide,
      `&#${code}${semicolon}`,
      `&#x${code.toString(16)}${semicolon}`,
      `&#00${code};`,
    ]
    const named: Readonly<Record<string, string>> = { '<': '&lt', '&': '&amp', _: '&lowbar', '/': '&sol', '#': '&num' }
    if (named[char] !== undefined && below(2) === 0) return `${named[char]}${semicolon}`
    return (
      [...forms, char + pick(invisible), char + pick(blanks), pick(invisible) + char][below(forms.length + 3)] ?? ''
    )
  }
}

const strings = sweep(1_000, 25_000)

for (const [index, shape] of shapes.entries()) {
  test(`nothing escapes from ${shape.name} in ${strings} hostile strings [F-07 G-45 K-96 R-103 W-34]`, () => {
    const below = generator(20_260_728 + index)
    let disarmed = 0
    for (let count = 0; count < strings; count++) {
      const text = hostile(below)
      try {
        if (assertHeld(text, shape) > 0) disarmed++
      } catch (error) {
        assert.fail(`${error instanceof Error && error.message}: ${JSON.stringify(text)}`)
      }
    }
    process.stdout.write(`fence: ${shape.name}: ${strings} hostile strings, ${disarmed} with look-alikes, 0 escapes\n`)
    assert(disarmed > strings * 0.4)
  })
}

const attacks = dataFolder('attacks-dev')

test.skipIf(attacks === undefined)('no published attack escapes from any element [F-07 G-45 K-77 K-96]', () => {
  const files = readdirSync(attacks ?? '').filter((name) => name.endsWith('.jsonl'))
  const lines = files.flatMap((file) =>
    readFileSync(join(attacks ?? '', file), 'utf8')
      .trim()
      .split('\n'),
  )
  for (const line of lines) {
    const { text } = JSON.parse(line) as { text: string }
    for (const shape of shapes) assertHeld(text, shape)
  }
  process.stdout.write(`fence: ${lines.length} attacks in ${shapes.length} elements, 0 escapes\n`)
  assert(lines.length > 0)
})
