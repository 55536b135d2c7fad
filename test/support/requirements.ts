// The gate between requirements and tests: an active row needs a test that cites it, a test needs a row.

import { isNode, type Node, nameOf, placeOf, type SourceFile, treeOf, walk } from './source.ts'

interface Row {
  readonly id: string
  readonly text: string
  readonly status: 'active' | 'planned'
}

interface Area {
  readonly area: string
  readonly rows: readonly Row[]
}

/** How far an area is: `proven` are the active rows that a test cites. */
interface Coverage {
  readonly area: string
  readonly rows: number
  readonly active: number
  readonly proven: number
  readonly planned: number
}

interface Report {
  readonly areas: readonly Coverage[]
  /** The rows of each area, with the places of the tests that cite them. */
  readonly proofs: Readonly<
    Record<string, readonly { readonly id: string; readonly text: string; readonly tests: readonly string[] }[]>
  >
  /** The active rows without a test. */
  readonly missing: readonly string[]
  /** Everything that closes the gate, the missing rows included. */
  readonly findings: readonly string[]
}

/** Looks at `requirements/*.json` and at the titles of all tests and contract suites among the files. */
export function checkRequirements(files: readonly SourceFile[]): Report {
  const areas = files.filter(({ path }) => /^requirements\/[^/]+\.json$/.test(path)).map(readArea)
  const rows = areas.flatMap((area) => area.rows)
  const known = new Set(rows.map(({ id }) => id))
  const tests = files.filter(({ path }) => citing.test(path)).flatMap(testsOf)
  const cited = new Set(tests.flatMap(({ cites }) => cites))
  const missing = rows.filter(({ id, status }) => status === 'active' && !cited.has(id)).map(({ id }) => id)
  return {
    areas: areas.map(({ area, rows }) => coverage(area, rows, cited)),
    proofs: Object.fromEntries(
      areas.map(({ area, rows }) => [
        area,
        rows.map(({ id, text }) => ({
          id,
          text,
          tests: tests.filter(({ cites }) => cites.includes(id)).map(({ place }) => place),
        })),
      ]),
    ),
    missing,
    findings: [
      ...(areas.length === 0 ? ['there are no requirements'] : []),
      ...files.filter(({ path }) => path.startsWith('requirements/')).flatMap(flaws),
      ...repeated(rows.map(({ id }) => id)).map((id) => `${id} occurs twice`),
      ...missing.map((id) => `${id} is active and no test cites it`),
      ...tests.flatMap(({ place, cites }) =>
        cites.filter((id) => !known.has(id)).map((id) => `${place} cites ${id}, which does not exist`),
      ),
      ...tests.filter(({ top, cites }) => top && cites.length === 0).map(({ place }) => `${place} cites no row`),
    ],
  }
}

const citing = /^(src|test|examples)\/.*\.test\.ts$|^src\/testing\/.*\.ts$/

const readArea = ({ path, text }: SourceFile): Area => ({
  area: path.slice('requirements/'.length, -'.json'.length),
  rows: JSON.parse(text),
})

const coverage = (area: string, rows: readonly Row[], cited: ReadonlySet<string>): Coverage => ({
  area,
  rows: rows.length,
  active: rows.filter(({ status }) => status === 'active').length,
  proven: rows.filter(({ id, status }) => status === 'active' && cited.has(id)).length,
  planned: rows.filter(({ status }) => status === 'planned').length,
})

const fields: Readonly<Record<string, RegExp>> = {
  id: /^[A-Z]-\d{2,3}$/,
  level: /^(must|must not|should|may)$/,
  text: /\S/,
  origin: /^[a-z]+(\+[a-z]+)?$/,
  status: /^(active|planned)$/,
}

/** Rows that are not rows, and rows out of order. */
function flaws({ path, text }: SourceFile): string[] {
  const rows: Readonly<Record<string, unknown>>[] = JSON.parse(text)
  const numbers = rows.map(({ id }) => Number(String(id).slice(2)))
  return [
    ...rows.flatMap((row, index) =>
      Object.entries({ ...fields, ...row })
        .filter(([name]) => !(fields[name]?.test(String(row[name])) ?? false))
        .map(([name]) => `${path}: row ${index + 1} has no good \`${name}\``),
    ),
    ...numbers
      .slice(1)
      .flatMap((number, index) =>
        number < (numbers[index] ?? 0) ? [`${path}: ${rows[index + 1]?.['id']} is out of order`] : [],
      ),
    ...(new Set(rows.map(({ id }) => String(id)[0])).size > 1 ? [`${path} mixes areas`] : []),
  ]
}

const repeated = (ids: readonly string[]): string[] => [
  ...new Set(ids.filter((id, index) => ids.indexOf(id) !== index)),
]

interface Test {
  readonly place: string
  readonly cites: readonly string[]
  /** Registered by the file itself, in no other test, suite or function. */
  readonly top: boolean
}

/** Every `test` and `describe` of a file, also `test.each(…)(…)`, and those of a suite that is handed its `test`. */
function testsOf(file: SourceFile): Test[] {
  const top = new Set(walk(treeOf(file), (node) => !/Function/.test(node.type)))
  const isSuite = !file.path.endsWith('.test.ts')
  return [...walk(treeOf(file))].filter(isTest).map((node) => ({
    place: placeOf(file, node),
    cites: citations(titleOf(node)),
    top: top.has(node) && !isSuite,
  }))
}

const isTest = (node: Node): boolean =>
  node.type === 'CallExpression' && registers(node['callee']) && argumentsOf(node).length > 1

/** Follows `a.b`, `a(…)` and a tagged template down to a name: `contract.test.each(…)`. `pattern.test(text)` has one argument. */
function registers(callee: unknown): boolean {
  if (!isNode(callee)) return false
  if (callee.type === 'Identifier') return isRegistrar(callee)
  if (callee.type === 'MemberExpression') return isRegistrar(callee['property']) || registers(callee['object'])
  if (callee.type === 'CallExpression') return registers(callee['callee'])
  return callee.type === 'TaggedTemplateExpression' && registers(callee['tag'])
}

const isRegistrar = (node: unknown): boolean => /^(test|it|describe|suite)$/.test(nameOf(node) ?? '')

const argumentsOf = (call: Node): unknown[] => call['arguments'] as unknown[]

/** All text in the first argument, whether plain, a template or put together. */
function titleOf(call: Node): string {
  const [title] = argumentsOf(call)
  if (!isNode(title)) return ''
  return [...walk(title)]
    .map(({ type, value }) => (type === 'TemplateElement' ? rawOf(value) : type === 'Literal' ? String(value) : ''))
    .join('')
}

const rawOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'raw' in value ? String(value.raw) : ''

const citations = (title: string): string[] =>
  [...title.matchAll(/\[([A-Z]-\d+(?: [A-Z]-\d+)*)\]/g)].flatMap((match) => match[1]?.split(' ') ?? [])
