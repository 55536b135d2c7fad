/** A heading of a Markdown text; its lines go from `from` up to `to`. */
export interface Heading {
  readonly level: 1 | 2 | 3
  readonly title: string
  readonly from: number
  readonly to: number
}

export interface Outline {
  /** Where the text begins, behind a byte order mark and frontmatter. */
  readonly start: number
  readonly headings: readonly Heading[]
}

/** The headings of level 1 to 3, underlined ones too, outside of code fences. Offsets are characters of the text. */
export function outlineOf(text: string): Outline {
  const start = startOf(text)
  const headings: Heading[] = []
  const fenceAt = makeFences()
  let previous: Line | undefined
  let beforePrevious: Line | undefined
  for (const line of linesOf(text, start)) {
    const fenced = fenceAt(line.text) !== undefined
    if (!fenced) {
      const heading = hashed(line) ?? underlined(line, previous, beforePrevious)
      if (heading !== undefined) headings.push(heading)
    }
    beforePrevious = previous
    // What stands in a fence, and its ends, can be no title of an underline.
    previous = fenced ? undefined : line
  }
  return { start, headings }
}

/** Asked line by line: the number of the code fence that the line belongs to, its ends included; undefined outside. */
export function makeFences(): (line: string) => number | undefined {
  let open: string | undefined
  let number = 0
  return (line) => {
    const closes = open !== undefined && closesFence(line, open)
    const opened = open ?? fenceOf(line)
    if (open === undefined && opened !== undefined) number++
    open = closes ? undefined : opened
    return opened === undefined ? undefined : number
  }
}

export interface Line {
  /** Without its end. */
  readonly text: string
  readonly from: number
  /** Behind its end. */
  readonly to: number
}

export function* linesOf(text: string, start = 0): Generator<Line> {
  const end = /\r\n|\n|\r/g
  end.lastIndex = start
  let from = start
  for (let found = end.exec(text); found !== null; found = end.exec(text)) {
    yield { text: text.slice(from, found.index), from, to: end.lastIndex }
    from = end.lastIndex
  }
  if (from < text.length) yield { text: text.slice(from), from, to: text.length }
}

function startOf(text: string): number {
  const start = text.startsWith('\ufeff') ? 1 : 0
  let first = true
  for (const line of linesOf(text, start)) {
    if (first && line.text.trimEnd() !== '---') return start
    if (!first && /^(?:---|\.\.\.)\s*$/.test(line.text)) return line.to
    first = false
  }
  return start
}

const fenceOf = (line: string): string | undefined => /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]

function closesFence(line: string, fence: string): boolean {
  const mark = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1]
  return mark?.startsWith(fence) === true
}

function hashed({ text, from, to }: Line): Heading | undefined {
  const mark = /^ {0,3}(#{1,3})(?:[ \t]|$)/.exec(text)
  if (mark === null) return undefined
  const title = withoutClosing(text.slice(mark[0].length).trim())
  return { level: mark[1]?.length as Heading['level'], title, from, to }
}

/** Without the row of `#` that may end a heading. */
function withoutClosing(title: string): string {
  let end = title.length
  while (title[end - 1] === '#') end--
  const closed = end < title.length && (end === 0 || /[ \t]/.test(title.charAt(end - 1)))
  return closed ? title.slice(0, end).trimEnd() : title
}

/** Only a line that stands alone counts as a title: a whole paragraph above a rule would be lost as text. */
function underlined(line: Line, title: Line | undefined, before: Line | undefined): Heading | undefined {
  if (title === undefined || !isTitle(title.text) || !/^ {0,3}(?:=+|-+)[ \t]*$/.test(line.text)) return undefined
  if (before !== undefined && before.text.trim() !== '' && hashed(before) === undefined) return undefined
  return { level: line.text.includes('=') ? 1 : 2, title: title.text.trim(), from: title.from, to: line.to }
}

const isTitle = (line: string): boolean =>
  /^ {0,3}[^\s#>|]/.test(line) && !/^ {0,3}(?:[-*+=_]|\d+[.)])(?:\s|[-*=_]|$)/.test(line)
