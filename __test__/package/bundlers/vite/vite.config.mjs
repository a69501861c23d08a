import { defineConfig } from "vite";

// Vite leaves dependencies of a server build alone by itself.
export default defineConfig({ build: { ssr: "agent.ts", outDir: "built" } });
