# The script, the style and their hashes, as `make page` wrote them: parts of each page.
	.section .rodata
	.global gp_page_script, gp_page_script_end, gp_page_style, gp_page_style_end, gp_page_hashes
gp_page_script:
	.incbin "page/dist/page.js"
gp_page_script_end:
gp_page_style:
	.incbin "page/dist/page.css"
gp_page_style_end:
gp_page_hashes:
	.incbin "page/dist/csp.txt"
	.byte 0
	.section .note.GNU-stack,"",@progbits
