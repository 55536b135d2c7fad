import { isObject } from '../../base/object.ts'

/** True for a block of an MCP result that is text and nothing else, as most are. */
export function isTextBlock(block: unknown): block is { readonly type: 'text'; readonly text: string } {
  if (!isObject(block) || block['type'] !== 'text' || typeof block['text'] !== 'string') return false
  return Object.keys(block).length === 2
}
