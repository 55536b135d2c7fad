import { distinct, type Form, type Found, folded, searchIn } from './found.ts'

/** Lines with control tokens of models or markers that pretend to be another speaker. */
export const findControlTokens = (text: string): readonly Found[] => distinct(searchIn(folded(text)).all(forms))

const forms: readonly Form[] = [
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
