export { approvalIdOf, fenceText, plain, resultText } from '../../gateway/tools/result-text.ts'
export { isOffered, type Tool, toolsOf } from '../../gateway/tools/tools.ts'
