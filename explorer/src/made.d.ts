// The modules that build.mjs makes.

declare module 'rds:lists' {
  const lists: Record<string, import('./ui/filters.js').ListParameters>;
  export default lists;
}
declare module 'rds:references' {
  const references: import('./links.js').Reference[];
  export default references;
}
declare module 'rds:files' {
  const made: {
    files: Record<string, { asset: string; size: number; type: string }>;
    loaded: {
      browser: string;
      style: string;
      theme: string;
      icon: string;
      preview: string;
      shared: string[];
      pages: Record<string, string[]>;
    };
  };
  export default made;
}
