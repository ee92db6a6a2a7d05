// What every page can do: the theme's switch, buttons that copy, and this host's address in the examples.
'use strict';

const root = document.documentElement;

/** The theme that is drawn now. */
function theme() {
  return root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

const toggle = document.getElementById('theme');
if (toggle) {
  const say = () => {
    toggle.textContent = theme() === 'dark' ? 'Light' : 'Dark';
    toggle.setAttribute('aria-label', `Switch to the ${toggle.textContent.toLowerCase()} theme`);
  };
  toggle.hidden = false;
  toggle.addEventListener('click', () => {
    root.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem('theme', root.dataset.theme);
    } catch {
      // Then the choice lasts as long as the page.
    }
    say();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', say);
  say();
}

// Examples name this host, so that they can be typed as they stand.
for (const code of document.querySelectorAll('.code code')) {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.data.includes('https://risk.example')) text.data = text.data.replaceAll('https://risk.example', location.origin);
  }
}

/** Puts a text into the clipboard; says whether it is there. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const blocks = document.querySelectorAll('.code');
if (blocks.length > 0) {
  // What became of copying is written on the button for those who look at it, and told here to those who listen.
  const told = document.createElement('p');
  told.className = 'told';
  told.setAttribute('role', 'status');
  document.querySelector('main').append(told);
  for (const block of blocks) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const code = block.querySelector('code').textContent;
      told.textContent = button.textContent = (await copied(code)) ? 'Copied' : 'Not copied';
      setTimeout(() => {
        button.textContent = 'Copy';
        told.textContent = '';
      }, 2000);
    });
    block.append(button);
  }
}

// A box that scrolls is reached with the keyboard; one that shows all it holds would be a stop for nothing.
const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    if (scrolls) target.tabIndex = 0;
    else target.removeAttribute('tabindex');
  }
});
for (const box of document.querySelectorAll('.scroll, .code pre')) boxes.observe(box);

// The part that is being read is marked in the list of parts.
const links = new Map([...document.querySelectorAll('.parts a')].map((link) => [link.hash.slice(1), link]));
if (links.size > 0) {
  const seen = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) isIntersecting ? seen.add(target.id) : seen.delete(target.id);
      const first = [...links.keys()].find((anchor) => seen.has(anchor));
      if (!first) return;
      for (const [anchor, link] of links) anchor === first ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current');
    },
    { rootMargin: '-64px 0px -60% 0px' },
  );
  for (const anchor of links.keys()) {
    const heading = document.getElementById(anchor);
    if (heading) watch.observe(heading);
  }
}

// The page's own place in the navigation is in sight. `scrollIntoView` would do it too, but may move the point from which a browser
// looks for the next stop of Tab: the skip link would be behind it.
const nav = document.getElementById('nav');
const here = nav?.querySelector('[aria-current]');
if (here) {
  const [frame, place] = [nav.getBoundingClientRect(), here.getBoundingClientRect()];
  if (place.bottom > frame.bottom) nav.scrollTop += place.bottom - frame.bottom;
  else if (place.top < frame.top) nav.scrollTop -= frame.top - place.top;
}

// The menu closes when a place on the same page was chosen, and by Escape.
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && location.hash === '#nav') location.hash = '#main';
});
