// Applies the chosen theme before the page is drawn. Only the theme is stored, never a key.
'use strict';
document.documentElement.classList.add('scripted');
try {
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage, the page follows the system's theme.
}
