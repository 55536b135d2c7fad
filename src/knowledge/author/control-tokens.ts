import { folded } from './folded.ts'
import { distinct, type Found } from './found.ts'
import { lineFinder } from './lines.ts'

/** Lines with control tokens of models or markers that pretend to be another speaker. */
export function findControlTokens(text: string): readonly Found[] {
  const searched = folded(text)
  const lineOf = lineFinder(searched)
  return distinct(
    forms.flatMap(({ kind, form }) => [...searched.matchAll(form).map(({ index }) => ({ line: lineOf(index), kind }))]),
  )
}

const forms: readonly { readonly kind: string; readonly form: RegExp }[] = [
  {
    kind: 'a control token of a model',
    form: /<\|[a-z][a-z0-9_▁ -]{0,40}\|>|<(?:start|end)_of_turn>|<\/?(?:bos|eos)>/g,
  },
  { kind: 'an instruction bracket', form: /\[\/?(?:inst|system_prompt|tool_results|available_tools)\]|<<\/?sys>>/g },
  {
    kind: 'a marker of another speaker',
    form: /^[ \t#>*_]{0,8}(?:human|assistant|system prompt|system message)[*_]{0,2}:(?!:)/gm,
  },
  {
    kind: 'an element of a prompt',
    form: /<\/?(?:system|system[_-]prompt|system[_-]reminder|function_calls|tool_calls?|tool_results?|assistant)>/g,
  },
]
