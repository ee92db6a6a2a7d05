// The types of the API's answers, which the TypeScript library's generator writes from the OpenAPI document.

export type * from '../../clients/typescript/src/generated/types.js';
