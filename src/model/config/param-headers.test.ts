import assert from 'node:assert/strict'
import { test } from 'vitest'
import { headerMembers, isHeaderName } from './param-headers.ts'

test('members that want to be headers are found at every depth, and only where names alone lead [H-90]', () => {
  const schema = {
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      at: { properties: { zone: { type: 'integer', 'x-mcp-header': 7 }, list: { items: { 'x-mcp-header': 'No' } } } },
      odd: 'text',
    },
    anyOf: [{ properties: { x: { 'x-mcp-header': 'No' } } }],
  }
  assert.deepEqual(headerMembers(schema), [
    { header: 'Region', path: ['region'], type: 'string' },
    { header: 7, path: ['at', 'zone'], type: 'integer' },
  ])
  for (const none of [undefined, null, 7, [], { properties: [] }]) assert.deepEqual(headerMembers(none), [])
  assert.deepEqual(['Region', 'a b', '', 7].map(isHeaderName), [true, false, false, false])
})
