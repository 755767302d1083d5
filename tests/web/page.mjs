// Creates reports for tests and opens them in a browser.
import {execFileSync} from 'node:child_process';
import {appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const MODULES = process.env.TRIBUTARY_WEB_MODULES || join(ROOT, 'build', 'node-web', 'node_modules');
const CHART_JS = ['/usr/share/javascript/chart.js/chart.min.js', '/usr/share/nodejs/chart.js/dist/chart.min.js'].find(
  existsSync,
);
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** A package that scripts/setup --tests installed in build/node-web; null if it is missing. */
function packaged(name) {
  try {
    return createRequire(join(MODULES, 'here.js'))(name);
  } catch {
    return null;
  }
}

/** Why browser tests cannot run; false if they can. */
export function whyNoBrowser() {
  if (!packaged('playwright-core')) return 'skipped: no playwright-core (npm)';
  if (!CHROMIUM) return 'skipped: no chromium';
  return whyNoBundle();
}

/** Why the page cannot be bundled; false if it can. */
export function whyNoBundle() {
  return CHART_JS ? false : 'skipped: no libjs-chart.js';
}

/** Why the type checker cannot run; false if it can. */
export function whyNoTypescript() {
  return existsSync(join(MODULES, 'typescript', 'bin', 'tsc')) ? false : 'skipped: no typescript (npm)';
}

/** Output of the type checker for web/; empty without errors. */
export function typeErrors() {
  try {
    execFileSync(
      process.execPath,
      [join(MODULES, 'typescript', 'bin', 'tsc'), '-p', join(ROOT, 'tests', 'web', 'tsconfig.json')],
      {encoding: 'utf8'},
    );
    return '';
  } catch (error) {
    return error.stdout || String(error);
  }
}

function bundle(web, out) {
  execFileSync('cmake', [`-DCHART_JS=${CHART_JS}`, `-DOUT=${out}`, '-P', join(web, 'bundle.cmake')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
}

/** The error of the bundle, on one line, if `text` is appended to a module; empty without an error. */
export function bundleErrors(module, text) {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-web-'));
  try {
    cpSync(join(ROOT, 'web'), join(folder, 'web'), {recursive: true});
    appendFileSync(join(folder, 'web', 'modules', `${module}.js`), text);
    bundle(join(folder, 'web'), folder);
    return '';
  } catch (error) {
    return error.stderr.replace(/\s+/g, ' ');
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
}

export const source = (path) => readFileSync(join(ROOT, path), 'utf8');

/** A temporary folder with the page template, for creating reports. */
export class ReportFolder {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'tributary-web-'));
    bundle(join(ROOT, 'web'), this.folder);
    this.template = readFileSync(join(this.folder, 'report_template.html'), 'utf8');
  }

  /** Writes a report like the program: title escaped, no "<" in the data. Returns its path. */
  report(name, data) {
    const escaped = String(data.name).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
    const json = JSON.stringify(data).replace(/</g, '\\u003c');
    const path = join(this.folder, `${name}.html`);
    writeFileSync(
      path,
      this.template.replace('@TITLE@', () => escaped).replace('@DATA@', () => json),
    );
    return path;
  }

  clear() {
    rmSync(this.folder, {recursive: true, force: true});
  }
}

export async function launch() {
  return packaged('playwright-core').chromium.launch({
    executablePath: CHROMIUM,
    args: ['--disable-gpu', '--disable-dev-shm-usage'],
  });
}

/**
 * Opens a report. Network requests are blocked and recorded, errors are recorded. The page of a run in progress reloads
 * only if `live`; otherwise it is made to believe that it is in a hidden tab.
 * @returns {Promise<{page: any, context: any, requests: string[], errors: string[]}>}
 */
export async function open(browser, path, {width = 1440, height = 900, live = false, ...options} = {}) {
  const context = await browser.newContext({viewport: {width, height}, reducedMotion: 'reduce', ...options});
  if (!live) await context.addInitScript(() => Object.defineProperty(document, 'hidden', {get: () => true}));
  const page = await context.newPage();
  const [requests, errors] = [[], []];
  const own = pathToFileURL(path).href;
  await context.route('**/*', (route) => {
    const url = route.request().url();
    if (url.split('#')[0] === own || url.startsWith('data:')) return route.continue();
    requests.push(url);
    return route.abort();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(own);
  return {page, context, requests, errors};
}
