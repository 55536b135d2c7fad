export { approvalIdOf, fenceText, plain, resultText } from '../gateway/result-text.ts'
export { isOffered, type Tool, toolsOf } from '../gateway/tools.ts'
