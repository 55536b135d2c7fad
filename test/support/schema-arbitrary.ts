// Values from a JSON Schema: some fit it, most are nearly right, some are nothing of the kind.

import fc from 'fast-check'

// biome-ignore lint/suspicious/noExplicitAny: a schema is looked at as data
type Schema = any

export const canary = 'canary-23f9'

const hostileNames = ['constructor', 'toString', 'hasOwnProperty', 'then', '', 'a/b', '~0', '10', '\u{1f600}']

/** Anything that JSON can say. */
export const anything: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      null,
      true,
      0,
      -1,
      0.5,
      2 ** 53 - 1,
      '',
      canary,
      `${canary}\n`,
      'sync',
      'stream',
      '2026-06-16T15:00:00.000Z',
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...hostileNames, 'id', 'kind'), tie('value'), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
})).value

/** Something like what the schema asks for. */
export function roughly(schema: Schema, root: Schema = schema): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: fitting(schema, root), weight: 30 }, { arbitrary: anything, weight: 1 })
}

function fitting(schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  if (typeof schema !== 'object' || schema === null) return anything
  if (typeof schema.$ref === 'string') return fitting(resolved(schema.$ref, root), root)
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return fc.oneof(...choices.map((choice: Schema) => fitting(choice, root)))
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  if (schema.type === 'object') return members(schema, root)
  if (schema.type === 'array') return fc.array(roughly(schema.items ?? {}, root), { maxLength: 3 })
  return plain(schema.type)
}

function plain(type: unknown): fc.Arbitrary<unknown> {
  if (type === 'integer') return fc.constantFrom(0, 1, 7, -1, 2 ** 53 - 1)
  if (type === 'number') return fc.constantFrom(0, 0.5, -3)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'string') return texts
  return anything
}

const texts = fc.constantFrom(
  'conformance.echo',
  'conformance.approval',
  'conformance.stream',
  'conformance.budgeted',
  'clerk',
  'adder',
  'northlight/a',
  'sync',
  'stream',
  'async',
  '1.0.0',
  'northlight-depot',
  'inv_1',
  'cor_1',
  canary,
  'x'.repeat(300),
  '0'.repeat(64),
  '0'.repeat(16),
  `${'A'.repeat(43)}=`,
  `${'A'.repeat(86)}==`,
  '2026-06-16T15:00:00.000Z',
)

/** What is required and a few of the others, sometimes one that does not belong. */
function members(schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  const known = Object.keys(schema.properties ?? {})
  const optional = known.filter((name) => !schema.required?.includes(name))
  const more = seldom(fc.tuple(fc.constantFrom(...hostileNames), anything))
  const less = seldom(fc.constantFrom(...known, 'none'))
  return fc
    .tuple(fc.subarray(optional, { maxLength: Math.min(3, optional.length) }), more, less)
    .chain(([chosen, extra, dropped]) => {
      const names = known.filter(
        (name) => name !== dropped && (schema.required?.includes(name) || chosen.includes(name)),
      )
      const inner = names.map((name) =>
        name === 'capability_id' ? capabilities : roughly(schema.properties[name], root),
      )
      return fc.tuple(...inner).map((values) => {
        const entries = names.map((name, index): [string, unknown] => [name, values[index]])
        return Object.fromEntries(extra === undefined ? entries : [...entries, extra])
      })
    })
}

const capabilities = fc.constantFrom(
  ...['echo', 'fail', 'guarded', 'approval', 'budgeted', 'stream', 'unsafe', 'none', ' '].map(
    (name) => `conformance.${name}`,
  ),
)

const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 12 }, { arbitrary, weight: 1 })

const resolved = (reference: string, root: Schema): Schema =>
  reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .reduce((node, part) => node?.[part], root)
