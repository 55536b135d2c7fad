import assert from 'node:assert/strict'
import type { Dirent } from 'node:fs'
import fc from 'fast-check'
import { test, vi } from 'vitest'
import { entry, makeTree, type Tree } from '../../../test/knowledge/tree.ts'
import { openPackFiles } from './pack-files.ts'
import { makeScanner } from './scan.ts'

const order = vi.hoisted(() => ({ weights: [0] }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const weigh = (index: number): number => order.weights[index % order.weights.length] ?? 0
  const shuffled = (path: string, options: { withFileTypes: true }): Dirent[] =>
    fs
      .readdirSync(path, options)
      .map((found, index) => ({ found, weight: weigh(index) }))
      .sort((left, right) => left.weight - right.weight)
      .map(({ found }) => found)
  return { ...fs, readdirSync: shuffled }
})

const tree: Tree = {
  'b/x/KNOWLEDGE.md': entry('same'),
  'a/x/KNOWLEDGE.md': entry('same'),
  'c/KNOWLEDGE.md': 'broken',
  'a/y/KNOWLEDGE.md': entry('y'),
  'd/knowledge.md': 'd',
  'B/KNOWLEDGE.md': entry('b'),
  'ä/KNOWLEDGE.md': entry('umlaut'),
  'e/f/g': ['../..'],
  link: ['b'],
  link2: ['b'],
  'a/y/documents/2.md': '2',
  'a/y/documents/1.md': '1',
  'a/y/SKILL.md': 'skill',
}

test('in whatever order the system lists folders, the result is the same, cut or not [K-12 K-19]', async () => {
  const root = { id: 'w', scope: 'workspace', path: makeTree(tree), links: 'within-root' } as const
  const look = async (foldersMax: number) => {
    const files = await openPackFiles(root, { id: 'w:a/y', path: 'a/y' })
    return [await makeScanner().scan([root], { foldersMax }), await files.list()]
  }
  const plain = new Map<number, unknown>()
  for (const foldersMax of [3, 6, 50]) plain.set(foldersMax, await look(foldersMax))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(), { minLength: 1, maxLength: 9 }),
      fc.constantFrom(3, 6, 50),
      async (weights, foldersMax) => {
        order.weights = weights
        assert.deepEqual(await look(foldersMax), plain.get(foldersMax))
      },
    ),
    { numRuns: 60 },
  )
})
