// A page that was opened from a disk may not read other pages, so it finds them without showing their first lines.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
