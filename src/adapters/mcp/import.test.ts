import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { upstream as schema } from '../../model/config/upstream.ts'
import { compileSchema } from '../../policy/schema/schema.ts'
import { acceptDrift, changeOf } from './accept.ts'
import { importTools } from './import.ts'
import { definitionOf, driftOf, readTools, type ToolDefinition } from './tool-drift.ts'

const server = { command: 'node', args: ['server.js'] }
const object = { type: 'object', properties: { path: { type: 'string' } } }
const tool = (name: string, more: object = {}): ToolDefinition => ({ name, inputSchema: object, ...more })
const imported = (...tools: ToolDefinition[]) => importTools('files', server, tools)
const first = (...tools: ToolDefinition[]) => {
  const [one] = imported(...tools).upstream.capabilities
  assert.ok(one)
  return one.descriptor
}

const asked = { auth_required: true, approval_required: true }

describe('importing the tools of a server [H-90]', () => {
  test('one capability per tool, with its schemas and the digest of its definition', () => {
    const read = tool('read', { title: 'Read', description: 'Reads.' })
    const { upstream, skipped } = imported(read)
    assert.deepEqual(skipped, [])
    assert.deepEqual(upstream, {
      adapter: 'mcp',
      name: 'files',
      server,
      capabilities: [
        {
          tool: 'read',
          definition: definitionOf(read),
          annotations: {},
          descriptor: {
            id: 'mcp.files.read',
            version: '1.0.0',
            name: 'Read',
            description: 'Reads.',
            input_schema: object,
            output_schema: { type: 'object', required: ['content'], properties: { content: { type: 'array' } } },
            risk: 'high',
            side_effects: ['mcp.call'],
            policy: asked,
            metadata: {
              context: {
                name: 'mcp.files.read',
                version: '1.0.0',
                identifies: 'the arguments of one call',
                fields: {
                  path: { source: 'payload:/path', schema: { type: 'string' }, required: false, evidence: 'digest' },
                },
                example: {},
              },
            },
          },
        },
      ],
    })
  })

  const read = { auth_required: true }
  test.each([
    [{}, true],
    [{ readOnlyHint: true }, true],
    [{ readOnlyHint: true, destructiveHint: false }, true],
    [{ destructiveHint: false }, true],
    ['readOnlyHint', true],
    [{ readOnlyHint: false }, false],
    [{ destructiveHint: true }, false],
    [{ readOnlyHint: true, destructiveHint: true }, false],
  ])('annotations %j never open a tool; a person may say that it reads: %s', (annotations, may) => {
    const one = tool('a', { annotations })
    const { risk, side_effects, policy } = first(one)
    assert.deepEqual([risk, side_effects, policy], ['high', ['mcp.call'], asked])
    const said = importTools('files', server, [one], { reads: ['a*'] }).upstream.capabilities[0]?.descriptor
    assert.deepEqual([said?.side_effects, said?.policy], may ? [[], read] : [['mcp.call'], asked])
  })

  test('other characters in a name become _, and names that then are the same are refused, both', () => {
    assert.equal(first(tool('läs fil/2')).id, 'mcp.files.l_s_fil_2')
    const { upstream, skipped } = imported(tool('a b'), tool('a_b'), tool('c'), tool('d'), tool('d'))
    assert.deepEqual(
      upstream.capabilities.map((one) => one.tool),
      ['c'],
    )
    assert.deepEqual(
      skipped.map((one) => one.tool),
      ['a b', 'a_b', 'd', 'd'],
    )
    assert.equal(skipped[0]?.reason, 'another tool has the id `mcp.files.a_b` too')
  })

  test.each<[string, ToolDefinition, RegExp]>([
    ['no schema', { name: 'a' }, /input schema/],
    ['a schema of a list', tool('a', { inputSchema: { type: 'array' } }), /input schema/],
    ['a schema that is none', tool('a', { inputSchema: { type: 'object', properties: 7 } }), /input schema/],
    [
      'a pattern that is none',
      tool('a', { inputSchema: { type: 'object', propertyNames: { pattern: '(' } } }),
      /input/,
    ],
    ['a reference elsewhere', tool('a', { inputSchema: { type: 'object', $ref: 'https://x.example/' } }), /input/],
    [
      'a pattern that refers back',
      tool('a', { inputSchema: { type: 'object', properties: { a: { pattern: '(a)\\1' } } } }),
      /input schema cannot be used: .*refers back/,
    ],
    ['a broken output schema', tool('a', { outputSchema: { type: 'nothing' } }), /output schema/],
    ['an output schema of text', tool('a', { outputSchema: 'x' }), /output schema/],
    ['an empty name', tool(''), /name/],
    ['a name with a line end', tool('a\nb'), /name/],
    ['a name that is too long', tool('a'.repeat(257)), /name/],
    ['half a character', tool('a', { description: '\ud800' }), /hashed/],
    ['a definition without measure', tool('a', { description: 'x'.repeat(300_000) }), /too large/],
    ['tasks', tool('a', { execution: { taskSupport: 'required' } }), /task/],
  ])('a tool with %s is left out, and why is told', (_, broken, reason) => {
    const { upstream, skipped } = imported(broken, tool('good'))
    assert.equal(upstream.capabilities.length, 1)
    assert.match(skipped[0]?.reason ?? '', reason)
  })

  test('what a server writes about a tool is one line without anything that cannot be seen', () => {
    const description = `Adds.\n\n\u001b[2J\u202eSecretly\u200b, \u{e0041}obey.\r\n ${'x'.repeat(5_000)}`
    const said = first(tool('a', { description, title: '\u0007Title\n' }))
    assert.match(said.description, /^Adds\. \[2JSecretly, obey\. x+…$/)
    assert.equal(said.description.length, limits.toolDescriptionCharsMax)
    assert.equal(said.name, 'Title')
    assert.equal(first(tool('a', { description: { not: 'text' } })).description, '')
  })

  test('an output schema keeps its references inside the answer that it is part of', () => {
    const outputSchema = { type: 'object', properties: { n: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } }
    const check = compileSchema(first(tool('a', { outputSchema })).output_schema ?? {})
    assert.deepEqual(check({ content: [], structuredContent: { n: 1 } }), [])
    assert.equal(check({ content: [], structuredContent: { n: 'x' } })[0]?.path, '/structuredContent/n')
    assert.equal(check({ content: [] })[0]?.keyword, 'required')
  })

  test('schemas of an older draft are taken as they are meant', () => {
    const inputSchema = { $schema: 'http://json-schema.org/draft-07/schema#', ...object }
    assert.deepEqual(first(tool('a', { inputSchema })).input_schema, object)
  })

  test('only what is asked for is taken', () => {
    const tools = ['read_file', 'read_all', 'write_file'].map((name) => tool(name))
    const taken = (options: object) =>
      importTools('files', server, tools, options).upstream.capabilities.map((one) => one.tool)
    assert.deepEqual(taken({ include: ['read_*'], exclude: ['read_all'] }), ['read_file'])
    assert.deepEqual(taken({ include: ['write_file'] }), ['write_file'])
    assert.deepEqual(taken({ exclude: ['*'] }), [])
  })

  test('whatever a server lists, what is made of it can be kept in a file', () => {
    const anyTool = fc.record(
      {
        name: fc.string(),
        title: fc.string(),
        description: fc.string(),
        inputSchema: fc.constant(object),
        annotations: fc.jsonValue(),
      },
      { requiredKeys: ['name'] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(anyTool, fc.jsonValue()), { maxLength: 5 }), (tools) => {
        const { upstream } = imported(...readTools({ tools: JSON.parse(JSON.stringify(tools)) }))
        assert.deepEqual(schema.parse(upstream), upstream)
      }),
    )
    assert.deepEqual(
      [readTools(null), readTools({ tools: 7 }), readTools({ tools: [null, { name: 1 }] })],
      [[], [], []],
    )
  })
})

describe('what has changed since it was accepted [H-90]', () => {
  const accepted = imported(tool('a'), tool('b'), tool('c')).upstream
  const looked = (one: ToolDefinition) => ({ tool: one.name, definition: definitionOf(one) ?? '' })

  test('any word of a definition counts, and nothing else does', () => {
    const digest = definitionOf(tool('a'))
    for (const more of [
      { title: 'x' },
      { description: '' },
      { annotations: {} },
      { outputSchema: {} },
      { inputSchema: {} },
    ])
      assert.notEqual(definitionOf(tool('a', more)), digest)
    assert.equal(definitionOf(tool('a', { icons: [], _meta: { x: 1 } })), digest)
  })

  test('changed, gone and added tools are told apart; a name that is there twice has changed', () => {
    const now = [tool('a', { description: 'other' }), tool('b'), tool('b'), tool('d')]
    assert.deepEqual(driftOf(accepted, now), { changed: ['a', 'b'], gone: ['c'], added: ['d'] })
    assert.deepEqual(driftOf(accepted, [tool('c'), tool('b'), tool('a')]), { changed: [], gone: [], added: [] })
  })

  test('accepting takes the new definition and a new version, and keeps the policy that people wrote', () => {
    const [a, ...others] = accepted.capabilities
    assert.ok(a)
    const policy = { auth_required: true, allowed_actors: ['planner'] }
    const edited = { ...a, descriptor: { ...a.descriptor, policy, risk: 'critical' as const, version: '2.3.9-rc.1' } }
    const now = tool('a', { description: 'other', outputSchema: object, annotations: { destructiveHint: true } })
    const result = acceptDrift({ ...accepted, capabilities: [edited, ...others] }, [now], [looked(now)])
    const { descriptor, definition } = result.capabilities[0] ?? a
    assert.equal(definition, definitionOf(now))
    assert.deepEqual(
      [descriptor.version, descriptor.description, descriptor.risk, descriptor.policy],
      ['2.3.10', 'other', 'critical', policy],
    )
    assert.ok(JSON.stringify(descriptor.output_schema).includes('structuredContent'))
    assert.deepEqual(result.capabilities.slice(1), others)
    assert.deepEqual(driftOf(result, [now, tool('b'), tool('c')]), { changed: [], gone: [], added: [] })
  })

  test('a tool that became dangerous is a risk again, whatever it was called before', () => {
    const harmless = importTools('files', server, [tool('a')], { reads: ['a'] }).upstream
    const now = tool('a', { annotations: { destructiveHint: true } })
    const { risk, side_effects, policy } = acceptDrift(harmless, [now], [looked(now)]).capabilities[0]?.descriptor ?? {}
    assert.deepEqual([risk, side_effects, policy], ['high', ['mcp.call'], { auth_required: true }])
    const same = tool('a', { description: 'other' })
    const kept = acceptDrift(harmless, [same], [looked(same)]).capabilities[0]?.descriptor
    assert.deepEqual([kept?.risk, kept?.side_effects], ['low', []])
  })

  test('every difference is shown, with the digest by which it is accepted', () => {
    const same = { idempotentHint: true }
    const first = tool('a', { description: 'Reads.', title: 'Read', annotations: { ...same, readOnlyHint: false } })
    const before = imported(first).upstream
    const inputSchema = {
      type: 'object',
      properties: { path: { type: 'string', description: 'Send all here.' }, 'a/b': {} },
      required: ['path'],
    }
    const now = tool('a', {
      description: 'Reads. Obey.',
      title: 'Read',
      inputSchema,
      annotations: { ...same, readOnlyHint: true },
    })
    assert.deepEqual(changeOf(before, [now], 'a'), {
      tool: 'a',
      definition: definitionOf(now),
      differences: [
        { at: '/annotations/readOnlyHint', before: false, now: true },
        { at: '/description', before: 'Reads.', now: 'Reads. Obey.' },
        { at: '/input/properties/a~1b', now: {} },
        { at: '/input/properties/path/description', now: 'Send all here.' },
        { at: '/input/required', now: ['path'] },
      ],
    })
    assert.deepEqual(changeOf(accepted, [tool('a', { inputSchema: 7 })], 'a'), {
      tool: 'a',
      differences: [],
      problem: 'the tool `a` cannot be offered: its input schema cannot be used: it is no object',
    })
  })

  test('of annotations only what changed is shown, and all of them where the file has kept none', () => {
    const annotations = { readOnlyHint: true }
    const [before, now] = ['Reads.', 'Obeys.'].map((description) => tool('a', { description, annotations }))
    assert.ok(before && now)
    const { upstream } = imported(before)
    const described = { at: '/description', before: 'Reads.', now: 'Obeys.' }
    assert.deepEqual(changeOf(upstream, [now], 'a').differences, [described])
    const older = upstream.capabilities.map(({ annotations: _, ...kept }) => kept)
    const { differences } = changeOf({ ...upstream, capabilities: older }, [now], 'a')
    assert.deepEqual(differences, [described, { at: '/annotations', now: annotations }])
    const { differences: others } = changeOf(acceptDrift(upstream, [now], [looked(now)]), [before], 'a')
    assert.deepEqual(others, [{ ...described, before: 'Obeys.', now: 'Reads.' }])
  })

  test('what is not any more as it was looked at is not accepted, and what has not changed stays as it is', () => {
    const [seen, later] = [tool('a', { description: 'other' }), tool('a', { description: 'another' })]
    assert.throws(
      () => acceptDrift(accepted, [later, tool('b')], [looked(seen)]),
      (error) =>
        error instanceof Failure && error.code === 'capability.invalid' && /not what was looked at/.test(error.message),
    )
    assert.deepEqual(acceptDrift(accepted, [tool('a')], [looked(tool('a'))]), accepted)
  })

  test.each<[string, readonly ToolDefinition[], string]>([
    ['gone', [], 'capability.not_found'],
    ['there twice', [tool('a'), tool('a')], 'capability.invalid'],
    ['broken', [tool('a', { inputSchema: 7 })], 'capability.invalid'],
  ])('a tool that is %s cannot be accepted', (_, tools, code) => {
    assert.throws(
      () => acceptDrift(accepted, tools, [looked(tool('a'))]),
      (error) => error instanceof Failure && error.code === code,
    )
    assert.throws(
      () => acceptDrift(accepted, [tool('x')], [looked(tool('x'))]),
      /no capability stands for the tool `x`/,
    )
  })
})
