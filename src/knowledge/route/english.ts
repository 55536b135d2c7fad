/** The stem of an English word: endings of number, time and kind taken off, so that `deploys` meets `deployment`. */
export function stemEnglish(word: string): string {
  if (word.length < 4 || !letters.test(word)) return word
  const stem = withoutKind(withoutTime(withoutNumber(word)))
  return stem.replace(/(?<=..)e$/, '').replace(/(?<=[^aeiou])y$/, 'i')
}

const letters = /^[a-z]+$/

function withoutNumber(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2)
  return /[^ius]s$/.test(word) ? word.slice(0, -1) : word
}

function withoutTime(word: string): string {
  const ending = word.endsWith('ing') ? 3 : word.endsWith('ed') ? 2 : 0
  const stem = word.slice(0, word.length - ending)
  if (ending === 0 || stem.length < 3 || !/[aeiouy]/.test(stem)) return word
  return stem.replace(/([bdfgmnprt])\1$/, '$1')
}

function withoutKind(word: string): string {
  for (const [ending, least] of endings) {
    if (word.endsWith(ending) && word.length - ending.length >= least) return word.slice(0, -ending.length)
  }
  return word
}

/** With the letters that must remain. */
const endings: readonly (readonly [string, number])[] = [
  ['ation', 5],
  ['ator', 5],
  ['ate', 5],
  ['at', 5],
  ['ment', 4],
  ['ion', 4],
  ['ly', 4],
]

/** Words that a question or a description has whatever it is about. */
export const stopWords: ReadonlySet<string> = new Set(
  `a about above after again against all also although am among an and another any are aren as at be because been before
  being below between both but by can cannot could couldn did didn do does doesn doing don done down during each either
  else e.g even ever every few for from further get gets give given gives had has have having he her here hers him his
  how however i i.e if in instead into is isn it its itself just let like ll many may me might mine more most much must
  my name neither no nor not now of off often on once one only onto or other others our out over own per rather s same
  shall she should shouldn so some such t than that the their them then there these they this those though through thus
  to too under until up upon us use used useful uses using vs very via want was wasn we well were weren what whatever
  when whenever where whereas whether which while who whom whose why will with within without won would wouldn yes yet
  you your`.split(/\s+/),
)
